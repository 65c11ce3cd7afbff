import type { Clock, Connection } from "@wirescope/tool-server";
import { type BackOff, createBackOff, type LogLevel } from "@wirescope/tool-server/internal";
import { createListenStream, isRefused, resubscribeBackOff } from "./listen-stream.js";

/**
 * The subscriptions to resources and tasks and the log level of a server, for all clients together. Sent again with each new
 * session, and to the connection that replaces it when its entry changes.
 */
export interface ServerSubscriptions {
  /** Uses this connection from now on. */
  attach(connection: () => Connection | undefined): void;
  /** The server of this connection is closed: uses it no more, so that clients that stay subscribed do not keep it in memory. */
  detach(connection: () => Connection | undefined): void;
  /** The log level for all clients together; undefined if none has set one. */
  setLogLevel(level: LogLevel | undefined): void;
  /** Subscribes to a resource. Rejects if the server refuses; otherwise `unsubscribe` must be called once for it. */
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): void;
  /** The same for a task of a modern server, by the server's own id. */
  subscribeTask(taskId: string): Promise<void>;
  unsubscribeTask(taskId: string): void;
  /** Sends everything again, to a new session. */
  renew(): void;
}

const requestMs = 10_000;
const notConnected = (): Connection | undefined => undefined;

export function createServerSubscriptions(clock: Clock): ServerSubscriptions {
  let connection = notConnected;
  let level: LogLevel | undefined;

  const ready = (): Connection | undefined => {
    const open = connection();
    return open?.state === "READY" ? open : undefined;
  };
  const request = async (method: string, params: Record<string, unknown>): Promise<void> => {
    const open = ready();
    if (open === undefined) return;
    await open.request(method, params, { totalTimeoutMs: requestMs });
  };
  const setLevel = async (): Promise<void> => {
    const server = ready()?.server;
    // A modern server receives the level with each request.
    if (level === undefined || server?.era !== "legacy" || server.capabilities.logging === undefined) return;
    await request("logging/setLevel", { level });
  };
  // One after the other, so that the last level is the one that counts.
  let sent = Promise.resolve();
  const sendLevel = (): void => {
    sent = sent.then(setLevel).catch(() => {});
  };
  const isModern = (): boolean => ready()?.server?.era === "modern";

  const uris = new Map<string, number>();
  const resourceStream = createListenStream("resourceSubscriptions", uris, ready, clock);
  const resources = createRefCounted(uris, ready, (uri, isAdded) =>
    isModern() ? resourceStream.open() : request(isAdded ? "resources/subscribe" : "resources/unsubscribe", { uri }),
  );
  // A separate stream: a server that refuses it must not end the resource subscriptions.
  const taskIds = new Map<string, number>();
  const taskStream = createListenStream("taskIds", taskIds, ready, clock);
  const tasks = createRefCounted(taskIds, ready, async () => {
    if (isModern()) await taskStream.open();
  });

  /** Incremented when the session ends. */
  let session = 0;
  let cancelRetry = (): void => {};
  /** Subscribes to resources of a legacy server again, and retries after increasing delays what fails and was not refused. */
  const resubscribe = async (missing: Iterable<string>, backOff: BackOff): Promise<void> => {
    const sentIn = session;
    const failed: string[] = [];
    const send = async (uri: string): Promise<void> => {
      try {
        if (uris.has(uri)) await request("resources/subscribe", { uri });
      } catch (error) {
        if (!isRefused(error)) failed.push(uri);
      }
    };
    await Promise.all([...missing].map(send));
    if (failed.length === 0 || session !== sentIn) return;
    cancelRetry = clock.after(backOff.ended(), () => void resubscribe(failed, backOff));
  };

  const forget = (): void => {
    session += 1;
    cancelRetry();
    resourceStream.forget();
    taskStream.forget();
  };

  return {
    attach(next) {
      connection = next;
      forget();
    },
    detach(closed) {
      // The server that replaces it has attached its own.
      if (connection !== closed) return;
      connection = notConnected;
      forget();
    },
    setLogLevel(next) {
      if (next === level) return;
      level = next;
      sendLevel();
    },
    subscribe: resources.add,
    unsubscribe: resources.remove,
    subscribeTask: tasks.add,
    unsubscribeTask: tasks.remove,
    renew() {
      forget();
      sendLevel();
      if (isModern()) for (const stream of [resourceStream, taskStream]) void stream.open().catch(() => {});
      else void resubscribe(uris.keys(), createBackOff(resubscribeBackOff, clock));
    },
  };
}

/** Counts the subscribers of each subject. Subscribes with the first, and unsubscribes with the last. */
function createRefCounted(
  counts: Map<string, number>,
  ready: () => Connection | undefined,
  send: (subject: string, isAdded: boolean) => Promise<void>,
): { add(subject: string): Promise<void>; remove(subject: string): void } {
  const remove = (subject: string): void => {
    const count = counts.get(subject);
    if (count === undefined) return;
    if (count > 1) {
      counts.set(subject, count - 1);
      return;
    }
    counts.delete(subject);
    send(subject, false).catch(() => {});
  };
  return {
    async add(subject) {
      const count = counts.get(subject) ?? 0;
      counts.set(subject, count + 1);
      if (count > 0) return;
      const sentOn = ready();
      try {
        await send(subject, true);
      } catch (error) {
        // A request that was lost with its session is sent again with the next one.
        if (sentOn === undefined || sentOn !== ready()) return;
        remove(subject);
        throw error;
      }
    },
    remove,
  };
}
