import {
  errorObjectOf,
  isObject,
  metaKeys,
  metaOf,
  RpcError,
  type RpcObject,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { WatchedResource } from "../client-call.js";
import type { MergedServer } from "../dispatch/merged-server.js";
import { maxUriLength, watchedResource } from "../dispatch/resources.js";
import type { ChangingList, GatewayEvents } from "../events.js";
import { declaresTasks, tasksMissing } from "../task-states.js";
import type { MessageWriter } from "./message-writer.js";

/** Subscriptions of modern clients. Each is a request whose response ends it. */
export interface ClientSubscriptions {
  readonly size: number;
  /** Starts a subscription, which can include the client's own tasks. Returns a function that ends it, for when the client disconnects. */
  begin(request: RpcRequest, principal: string, writer: MessageWriter): () => void;
  /** Ends all, with a response to each client. */
  close(): void;
}

export interface ClientSubscriptionsOptions {
  readonly merged: MergedServer;
  readonly events: Pick<GatewayEvents, "emit" | "subscribe" | "reportDefect">;
  readonly max: number;
}

const listFields: Readonly<Record<ChangingList, string>> = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
};

/** The maximum number of resources, and of tasks, in one subscription. */
const maxSubjects = 1000;

/** Minimum milliseconds between notifications of one subscription: a server that repeats itself does not flood a client. */
const pauseMs = 100;

export function createClientSubscriptions({ merged, events, max }: ClientSubscriptionsOptions): ClientSubscriptions {
  const open = new Set<(isGraceful: boolean) => void>();

  const assertRoom = (): void => {
    if (open.size < max) return;
    events.emit({ kind: "refused", limit: "listeners", reason: `The limit of ${max} subscriptions is reached.` });
    throw new RpcError(rpcCodes.internalError, "Subscription limit reached. Try again later.");
  };

  const listen = async (
    request: RpcRequest,
    principal: string,
    writer: MessageWriter,
    isGone: () => boolean,
  ): Promise<(() => void) | undefined> => {
    const { id } = request;
    assertRoom();
    const filter = readFilter(request.params);
    const watched = await findAll(merged, filter.uris);
    if (isGone()) return undefined;
    // Other subscriptions may have started meanwhile.
    assertRoom();
    const tasks = new Map(
      filter.taskIds.flatMap((taskId) => {
        const route = merged.tasks.routeOf(taskId, principal);
        if (route === undefined) return [];
        // Not the server itself: a reload may replace or remove it while the client stays subscribed.
        const { server, original } = route;
        return [[taskId, { subscriptions: server.subscriptions, original }] as const];
      }),
    );
    /** Notifications that wait for the acknowledgement, which is always first, or for the end of a pause: the latest about each subject. */
    const waiting = new Map<string, () => void>();
    let isAcknowledged = false;
    let pause: NodeJS.Timeout | undefined;
    const send = (method: string, params: RpcObject): void => {
      const _meta = { ...metaOf(params), [metaKeys.subscriptionId]: id };
      if (writer.isOpen) writer.send({ jsonrpc: "2.0", method, params: { ...params, _meta } });
    };
    const flush = (): void => {
      clearTimeout(pause);
      pause = undefined;
      if (waiting.size === 0) return;
      for (const sendOne of waiting.values()) sendOne();
      waiting.clear();
      pause = setTimeout(flush, pauseMs).unref();
    };
    const notify = (method: string, subject = "", params: RpcObject = {}): void => {
      waiting.set(`${method} ${subject}`, () => send(method, params));
      if (isAcknowledged && pause === undefined) flush();
    };
    const unsubscribe = events.subscribe({
      "list-changed"({ list }) {
        if (filter.lists.has(list)) notify(`notifications/${list}/list_changed`);
      },
      "resource-updated"(updated) {
        for (const [uri, resource] of watched) {
          if (resource.uri === updated.uri && resource.server === updated.server)
            notify("notifications/resources/updated", uri, { uri });
        }
      },
      "task-updated"({ id: taskId, params }) {
        if (tasks.has(taskId)) notify("notifications/tasks", taskId, params);
      },
    });
    const resourceSubscriptions = [...watched.values()].map(({ subscribe, unsubscribe }) =>
      subscribed(subscribe(), unsubscribe),
    );
    const taskSubscriptions = [...tasks].map(([taskId, { subscriptions, original }]) => ({
      taskId,
      ...subscribed(subscriptions.subscribeTask(original), () => subscriptions.unsubscribeTask(original)),
    }));
    const end = (isGraceful: boolean): void => {
      if (!open.delete(end)) return;
      unsubscribe();
      if (isAcknowledged && isGraceful) flush();
      clearTimeout(pause);
      for (const { release } of [...resourceSubscriptions, ...taskSubscriptions]) release();
      if (!isGraceful) return;
      const _meta = { [metaKeys.subscriptionId]: id, [metaKeys.serverInfo]: merged.info };
      writer.respond({ jsonrpc: "2.0", id, result: { resultType: "complete", _meta } }, 200);
    };
    open.add(end);
    // A client does not poll an acknowledged task, so the subscription on its server must exist by then.
    const taskIds: string[] = [];
    for (const { taskId, isSubscribed } of taskSubscriptions) if (await isSubscribed) taskIds.push(taskId);
    if (isGone()) end(false);
    if (!open.has(end)) return undefined;
    const honored = {
      ...Object.fromEntries([...filter.lists].map((list) => [listFields[list], true])),
      ...(watched.size === 0 ? {} : { resourceSubscriptions: [...watched.keys()] }),
      ...(taskIds.length === 0 ? {} : { taskIds }),
    };
    send("notifications/subscriptions/acknowledged", { notifications: honored });
    isAcknowledged = true;
    flush();
    if (Object.keys(honored).length === 0) end(true);
    return () => end(false);
  };

  return {
    get size() {
      return open.size;
    },
    begin(request, principal, writer) {
      let isGone = false;
      let end: (() => void) | undefined;
      const refuse = (error: unknown): void => {
        const known = error instanceof RpcError ? error : new RpcError(rpcCodes.internalError, "Internal error.");
        writer.respond({ jsonrpc: "2.0", id: request.id, error: errorObjectOf(known) }, known.status);
      };
      listen(request, principal, writer, () => isGone)
        .then((stop) => {
          end = stop;
          if (isGone) stop?.();
        }, refuse)
        .catch(events.reportDefect);
      return () => {
        isGone = true;
        end?.();
      };
    },
    close() {
      for (const end of [...open]) end(true);
    },
  };
}

/** A subscription on a server. `release` ends it: once, and only if the server did not refuse it. */
export function subscribed(
  request: Promise<void>,
  unsubscribe: () => void,
): { readonly isSubscribed: Promise<boolean>; release(): void } {
  const isSubscribed = request.then(
    () => true,
    () => false,
  );
  // A refused subscription is already released; releasing it twice would drop another client's.
  return { isSubscribed, release: () => void isSubscribed.then((is) => is && unsubscribe()) };
}

function readFilter(params: RpcObject | undefined): {
  readonly lists: ReadonlySet<ChangingList>;
  readonly uris: readonly string[];
  readonly taskIds: readonly string[];
} {
  const filter = params?.notifications;
  const uris = isObject(filter) ? (filter.resourceSubscriptions ?? []) : undefined;
  const taskIds = isObject(filter) ? (filter.taskIds ?? []) : undefined;
  if (!isObject(filter) || !isStrings(uris) || !isStrings(taskIds)) {
    throw new RpcError(
      rpcCodes.invalidParams,
      "subscriptions/listen requires an object `notifications`, and arrays of strings if it has `resourceSubscriptions` or `taskIds`.",
    );
  }
  if (Math.max(uris.length, taskIds.length) > maxSubjects || uris.some((uri) => uri.length > maxUriLength)) {
    const message = `A subscription can have at most ${maxSubjects} resources, with URIs of at most ${maxUriLength} characters, and ${maxSubjects} tasks.`;
    throw new RpcError(rpcCodes.invalidParams, message);
  }
  const capabilities = metaOf(params)?.[metaKeys.clientCapabilities];
  if (filter.taskIds !== undefined && !declaresTasks(isObject(capabilities) ? capabilities : {})) throw tasksMissing();
  const lists = (Object.keys(listFields) as ChangingList[]).filter((list) => filter[listFields[list]] === true);
  return { lists: new Set(lists), uris, taskIds };
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** The resources with these URIs; those that no server has are omitted. */
async function findAll(merged: MergedServer, uris: readonly string[]): Promise<ReadonlyMap<string, WatchedResource>> {
  const routes = await Promise.all(
    uris.map(async (uri) => {
      const route = await merged.routes.find(uri).catch(() => undefined);
      return route === undefined ? [] : [[uri, watchedResource(route)] as const];
    }),
  );
  return new Map(routes.flat());
}
