import type { Connection } from "@wirescope/tool-server";
import { createBackOff, systemClock } from "@wirescope/tool-server/internal";

/** One `subscriptions/listen` of a modern server, for all clients together. It is replaced when its subjects change. */
export interface ListenStream {
  /** Sends the subjects as they are now. Rejects if the server refuses; then the stream before continues. */
  open(): Promise<void>;
  /** The session of the stream has ended. */
  forget(): void;
}

const resubscribe = { firstMs: 1000, maxMs: 60_000 };

/** Creates a stream for subjects of one kind. `field` is the member of the filter that lists them. */
export function createListenStream(
  field: "resourceSubscriptions" | "taskIds",
  subjects: ReadonlyMap<string, unknown>,
  ready: () => Connection | undefined,
): ListenStream {
  let listening: { close(): Promise<void> } | undefined;
  let renewing: Promise<void> | undefined;
  /** Whether the subjects changed since they were last sent. */
  let isStale = false;
  const backOff = createBackOff(resubscribe, systemClock);

  const open = (): Promise<void> => {
    isStale = true;
    renewing ??= renew().finally(() => {
      renewing = undefined;
    });
    return renewing;
  };
  const renew = async (): Promise<void> => {
    // Subscriptions of the same turn are sent together.
    await new Promise((resolve) => setImmediate(resolve));
    while (isStale) {
      isStale = false;
      const connection = ready();
      if (connection === undefined) return;
      const before = listening;
      listening = undefined;
      try {
        if (subjects.size > 0) await listen(connection);
      } catch (error) {
        listening ??= before;
        throw error;
      }
      await before?.close();
    }
  };
  const listen = (connection: Connection): Promise<void> =>
    connection.call("subscriptions/listen", async (client) => {
      // The SDK does not know the member of the tasks extension, but sends what it is given.
      const filter: object = { [field]: [...subjects.keys()] };
      const subscription = await client.listen(filter);
      listening = subscription;
      backOff.opened();
      void subscription.closed.then((how) => {
        if (how === "local" || listening !== subscription) return;
        listening = undefined;
        setTimeout(() => void open().catch(() => {}), backOff.ended()).unref();
      });
    });

  return {
    open,
    forget() {
      listening = undefined;
    },
  };
}
