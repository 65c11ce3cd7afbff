import { create } from "@bufbuild/protobuf";
import { type ConnectRouter, createRouterTransport } from "@connectrpc/connect";
import { eachChange } from "@wirescope/channelz/internal";
import type { TimelineServiceParts } from "@wirescope/channelz/timeline";
import type { ChangingList, GatewayEvents } from "../events.js";
import type { RpcService } from "../gateway-observer.js";
import {
  file_wirescope_v1_page,
  ListsChangedSchema,
  PageService,
  type WatchPageResponse,
  WatchPageResponseSchema,
} from "../gen/wirescope/v1/page_pb.js";
import { createAdminClient, createCallClient } from "./client/admin-client.js";

export interface PageServiceOptions {
  readonly timeline: Pick<TimelineServiceParts, "watch">;
  /** The services with WatchServers and WatchCalls. */
  readonly routes: (router: ConnectRouter) => void;
  readonly hasCalls: boolean;
  readonly events: Pick<GatewayEvents, "subscribe">;
}

type Event = WatchPageResponse["event"];

/** Serves what the other services stream as one stream for each window. */
export function createPageService({ timeline, routes, hasCalls, events }: PageServiceOptions): RpcService {
  const inside = createRouterTransport(routes);
  const admin = createAdminClient(inside);
  const calls = createCallClient(inside);
  return {
    files: [file_wirescope_v1_page],
    routes(router) {
      router.service(PageService, {
        async *watch(_, context) {
          const left = new AbortController();
          const signal = AbortSignal.any([context.signal, left.signal]);
          const sources: readonly AsyncIterable<Event>[] = [
            eventsOf(timeline.watch(signal), (value) => ({ case: "timeline", value })),
            eventsOf(admin.watchServers({}, { signal }), (value) => ({ case: "servers", value })),
            eventsOf(changedLists(events, signal), (lists) => ({
              case: "lists",
              value: create(ListsChangedSchema, { lists: [...lists] }),
            })),
            ...(hasCalls
              ? [eventsOf(calls.watchCalls({}, { signal }), (value) => ({ case: "calls" as const, value }))]
              : []),
          ];
          try {
            for await (const event of merged(sources)) yield create(WatchPageResponseSchema, { event });
          } finally {
            left.abort();
          }
        },
      });
    },
    close() {},
  };
}

async function* eventsOf<Message>(
  messages: AsyncIterable<Message>,
  toEvent: (message: Message) => Event,
): AsyncGenerator<Event> {
  for await (const message of messages) yield toEvent(message);
}

/** The lists that changed since the last message. */
async function* changedLists(
  events: PageServiceOptions["events"],
  signal: AbortSignal,
): AsyncGenerator<readonly ChangingList[]> {
  const changed = new Set<ChangingList>();
  const watch = (listener: () => void): (() => void) =>
    events.subscribe({
      "list-changed"({ list }) {
        changed.add(list);
        listener();
      },
    });
  for await (const _ of eachChange(watch, signal)) {
    const lists = [...changed];
    changed.clear();
    if (lists.length > 0) yield lists;
  }
}

/** Yields what all streams yield until one of them ends. At most one message of each waits for a slow caller. */
async function* merged(streams: readonly AsyncIterable<Event>[]): AsyncGenerator<Event> {
  const waiting: { readonly event: Event; readonly taken: () => void }[] = [];
  let wake = (): void => {};
  let end: { readonly error?: unknown } | undefined;
  let hasLeft = false;
  const read = async (stream: AsyncIterable<Event>): Promise<void> => {
    for await (const event of stream) {
      await new Promise<void>((taken) => {
        waiting.push({ event, taken });
        wake();
      });
      // Closes the stream, which otherwise would keep its subscription.
      if (hasLeft) return;
    }
  };
  Promise.race(streams.map(read)).then(
    () => {
      end = {};
      wake();
    },
    (error: unknown) => {
      end = { error };
      wake();
    },
  );
  try {
    for (;;) {
      const [next] = waiting;
      if (next !== undefined) {
        yield next.event;
        waiting.shift();
        next.taken();
      } else if (end === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if ("error" in end) throw end.error;
      else return;
    }
  } finally {
    hasLeft = true;
    for (const { taken } of waiting) taken();
  }
}
