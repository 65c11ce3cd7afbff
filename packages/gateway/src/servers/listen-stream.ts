import type { Connection } from "@wirescope/tool-server";
import { createBackOff, systemClock } from "@wirescope/tool-server/internal";

/** One `subscriptions/listen` stream to a modern server, shared by all clients. It is replaced when its subjects change. */
export interface ListenStream {
  /** Subscribes to the current subjects. Rejects if the server refuses; then the previous stream stays open. */
  open(): Promise<void>;
  /** The session of the stream has ended. */
  forget(): void;
}

const resubscribeBackOff = { firstMs: 1000, maxMs: 60_000 };

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
  const backOff = createBackOff(resubscribeBackOff, systemClock);

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
      const previous = listening;
      try {
        if (subjects.size > 0) await listen(connection);
        else listening = undefined;
      } catch (error) {
        // The subjects or the session changed meanwhile: the response to the current ones decides.
        if (isStale) continue;
        throw error;
      }
      await previous?.close();
    }
  };
  const listen = (connection: Connection): Promise<void> =>
    connection.call("subscriptions/listen", async (client) => {
      // The SDK's types lack the tasks extension, but it sends unknown members.
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
