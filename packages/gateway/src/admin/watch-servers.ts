import { create, toBinary } from "@bufbuild/protobuf";
import { eachChange } from "@wirescope/channelz/internal";
import type { GatewayEvents } from "../events.js";
import {
  type Failure,
  type Server,
  ServerSchema,
  type WatchServersResponse,
  WatchServersResponseSchema,
} from "../gen/wirescope/v1/admin_pb.js";

/** The state that a watcher receives. */
export interface ServersState {
  readonly servers: readonly Server[];
  readonly reloadFailure?: Failure;
}

/** Yields all servers, then those that changed, until the signal aborts. */
export async function* watchServers(
  read: () => ServersState,
  changes: Pick<Changes, "watch">,
  signal: AbortSignal,
): AsyncGenerator<WatchServersResponse> {
  let before: ReadonlyMap<string, string> | undefined;
  let failureBefore: string | undefined;
  for await (const _ of eachChange(changes.watch, signal)) {
    const { servers, ...rest } = read();
    const now = new Map(servers.map((server) => [server.name, textOf(server)]));
    const changed = servers.filter(({ name }) => before?.get(name) !== now.get(name));
    const removed = [...(before?.keys() ?? [])].filter((name) => !now.has(name));
    const isFirst = before === undefined;
    const isOther = rest.reloadFailure?.message !== failureBefore;
    failureBefore = rest.reloadFailure?.message;
    before = now;
    if (isFirst || isOther || changed.length > 0 || removed.length > 0) {
      yield create(WatchServersResponseSchema, { servers: changed, removed, ...rest });
    }
  }
}

function textOf(server: Server): string {
  return Buffer.from(toBinary(ServerSchema, server)).toString("latin1");
}

/** Notifies watchers that something may have changed. */
export interface Changes {
  /** Notifies watchers soon. Costs almost nothing without watchers. */
  notifySoon(): void;
  /** Calls the listener after a possible change. Returns an unsubscribe function. */
  watch(listener: () => void): () => void;
  readonly watchers: number;
}

export interface ChangesPace {
  /** Milliseconds in which changes are collected: a server that connects changes several times. */
  readonly collectMs: number;
  /** Milliseconds until a change without an event is noticed, such as a token that another process refreshed. */
  readonly sweepMs: number;
}

export function createChanges(events: Pick<GatewayEvents, "subscribe">, { collectMs, sweepMs }: ChangesPace): Changes {
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  let stop = (): void => {};

  const notify = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const listener of [...listeners]) listener();
  };
  const notifySoon = (): void => {
    if (listeners.size > 0) timer ??= setTimeout(notify, collectMs).unref();
  };
  const start = (): void => {
    const sweep = setInterval(notify, sweepMs).unref();
    // The events that may change the message of a server.
    const unsubscribe = events.subscribe({
      "server-state": notifySoon,
      reloaded: notifySoon,
      "list-changed": notifySoon,
      omitted: notifySoon,
      "tool-changed": notifySoon,
      "sign-in-changed": notifySoon,
    });
    stop = () => {
      clearInterval(sweep);
      clearTimeout(timer);
      timer = undefined;
      unsubscribe();
    };
  };

  return {
    notifySoon,
    watch(listener) {
      if (listeners.size === 0) start();
      listeners.add(listener);
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) stop();
      };
    },
    get watchers() {
      return listeners.size;
    },
  };
}
