import type { Connection } from "@wirescope/tool-server";
import { createBackOff, type LogLevel, systemClock } from "@wirescope/tool-server/internal";

/**
 * The resource subscriptions and the log level of a server, for all clients together. Sent again with each new session, and to the
 * connection that replaces it when its entry changes.
 */
export interface ServerSubscriptions {
  /** Uses this connection from now on. */
  attach(connection: () => Connection | undefined): void;
  /** The lowest log level that any client has set; undefined if none has. */
  setLogLevel(level: LogLevel | undefined): void;
  /** Subscribes to a resource. Rejects if the server refuses; otherwise `unsubscribe` must be called once for it. */
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): void;
  /** There is a new session: sends everything again. */
  renew(): void;
}

const requestMs = 10_000;
const resubscribe = { firstMs: 1000, maxMs: 60_000 };

export function createServerSubscriptions(): ServerSubscriptions {
  let connection: () => Connection | undefined = () => undefined;
  const subscribed = new Map<string, number>();
  let level: LogLevel | undefined;
  let listening: { close(): Promise<void> } | undefined;
  let renewing: Promise<void> | undefined;
  /** Whether they changed since they were last sent. */
  let isStale = false;
  const backOff = createBackOff(resubscribe, systemClock);

  const ready = (): Connection | undefined => {
    const open = connection();
    return open?.state === "READY" ? open : undefined;
  };
  const ask = async (method: string, params: Record<string, unknown>): Promise<void> => {
    const open = ready();
    if (open === undefined) return;
    await open.request(method, params, { totalTimeoutMs: requestMs });
  };
  /** Subscribes. Rejects if the server refuses; a request that was lost with its session is sent again with the next one. */
  const askSubscribe = async (uri: string): Promise<void> => {
    const asked = ready();
    try {
      await (isModern() ? listenAgain() : ask("resources/subscribe", { uri }));
    } catch (error) {
      if (asked !== undefined && asked === ready()) throw error;
    }
  };
  const setLevel = async (): Promise<void> => {
    const server = ready()?.server;
    // A modern server receives the level with each request.
    if (level === undefined || server?.era !== "legacy" || server.capabilities.logging === undefined) return;
    await ask("logging/setLevel", { level });
  };
  const isModern = (): boolean => ready()?.server?.era === "modern";

  /** On a modern server all of them are one subscription, which is replaced when they change. */
  const listenAgain = (): Promise<void> => {
    isStale = true;
    renewing ??= renewAll().finally(() => {
      renewing = undefined;
    });
    return renewing;
  };
  const renewAll = async (): Promise<void> => {
    // Subscriptions of the same turn are sent together.
    await new Promise((resolve) => setImmediate(resolve));
    while (isStale) {
      isStale = false;
      const open = ready();
      if (open === undefined) return;
      const before = listening;
      listening = undefined;
      const resourceSubscriptions = [...subscribed.keys()];
      if (resourceSubscriptions.length > 0) await listen(open, resourceSubscriptions);
      await before?.close();
    }
  };
  const listen = (open: Connection, resourceSubscriptions: string[]): Promise<void> =>
    open.call("subscriptions/listen", async (client) => {
      const subscription = await client.listen({ resourceSubscriptions });
      listening = subscription;
      backOff.opened();
      void subscription.closed.then((how) => {
        if (how === "local" || listening !== subscription) return;
        listening = undefined;
        setTimeout(() => void listenAgain().catch(() => {}), backOff.ended()).unref();
      });
    });

  return {
    attach(next) {
      connection = next;
    },
    setLogLevel(next) {
      if (next === level) return;
      level = next;
      void setLevel().catch(() => {});
    },
    async subscribe(uri) {
      const count = subscribed.get(uri) ?? 0;
      subscribed.set(uri, count + 1);
      if (count > 0) return;
      try {
        await askSubscribe(uri);
      } catch (error) {
        this.unsubscribe(uri);
        throw error;
      }
    },
    unsubscribe(uri) {
      const count = subscribed.get(uri);
      if (count === undefined) return;
      if (count > 1) {
        subscribed.set(uri, count - 1);
        return;
      }
      subscribed.delete(uri);
      const sent = isModern() ? listenAgain() : ask("resources/unsubscribe", { uri });
      sent.catch(() => {});
    },
    renew() {
      listening = undefined;
      void setLevel().catch(() => {});
      if (isModern()) void listenAgain().catch(() => {});
      else for (const uri of subscribed.keys()) void ask("resources/subscribe", { uri }).catch(() => {});
    },
  };
}
