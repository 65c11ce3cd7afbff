import { type Connection, createBackOff, systemClock } from "@wirescope/tool-server";
import type { LogLevel } from "@wirescope/tool-server/rpc";

/**
 * What a server is asked to tell of by itself, for all clients together. Asked again with each new session, and of the
 * connection that takes its place where its entry changes.
 */
export interface ServerWishes {
  /** From now on they are asked of this connection. */
  attach(connection: () => Connection | undefined): void;
  /** The least level of log messages that any client wants; undefined where none said so. */
  setLogLevel(level: LogLevel | undefined): void;
  /** Wants to hear when a resource changes; each that wants is to want no more. */
  want(uri: string): Promise<void>;
  wantNoMore(uri: string): void;
  /** The session is new. */
  renew(): void;
}

const wishMs = 10_000;
const resubscribe = { firstMs: 1000, maxMs: 60_000 };

export function createServerWishes(): ServerWishes {
  let connection: () => Connection | undefined = () => undefined;
  const wanted = new Map<string, number>();
  let level: LogLevel | undefined;
  let listening: { close(): Promise<void> } | undefined;
  let renewing: Promise<void> | undefined;
  /** Whether what is wanted changed since it was last asked for. */
  let isStale = false;
  const backOff = createBackOff(resubscribe, systemClock);

  const ready = (): Connection | undefined => {
    const open = connection();
    return open?.state === "READY" ? open : undefined;
  };
  const ask = async (method: string, params: Record<string, unknown>): Promise<void> => {
    const open = ready();
    if (open === undefined) return;
    await open.request(method, params, { totalTimeoutMs: wishMs });
  };
  const setLevel = async (): Promise<void> => {
    const server = ready()?.server;
    // In the newer era each request says its own.
    if (level === undefined || server?.era !== "legacy" || server.capabilities.logging === undefined) return;
    await ask("logging/setLevel", { level });
  };
  const isModern = (): boolean => ready()?.server?.era === "modern";

  /** In the newer era all that is wanted is one subscription, made anew when it changes. */
  const listenAnew = (): Promise<void> => {
    isStale = true;
    renewing ??= renewAll().finally(() => {
      renewing = undefined;
    });
    return renewing;
  };
  const renewAll = async (): Promise<void> => {
    // What is wanted together is asked for together.
    await new Promise((resolve) => setImmediate(resolve));
    while (isStale) {
      isStale = false;
      const open = ready();
      if (open === undefined) return;
      const before = listening;
      listening = undefined;
      const resourceSubscriptions = [...wanted.keys()];
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
        setTimeout(() => void listenAnew().catch(() => {}), backOff.ended()).unref();
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
    async want(uri) {
      const count = wanted.get(uri) ?? 0;
      wanted.set(uri, count + 1);
      if (count > 0) return;
      try {
        if (isModern()) await listenAnew();
        else await ask("resources/subscribe", { uri });
      } catch (error) {
        this.wantNoMore(uri);
        throw error;
      }
    },
    wantNoMore(uri) {
      const count = wanted.get(uri);
      if (count === undefined) return;
      if (count > 1) {
        wanted.set(uri, count - 1);
        return;
      }
      wanted.delete(uri);
      const told = isModern() ? listenAnew() : ask("resources/unsubscribe", { uri });
      told.catch(() => {});
    },
    renew() {
      listening = undefined;
      void setLevel().catch(() => {});
      if (isModern()) void listenAnew().catch(() => {});
      else for (const uri of wanted.keys()) void ask("resources/subscribe", { uri }).catch(() => {});
    },
  };
}
