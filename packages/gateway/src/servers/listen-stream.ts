import { type Clock, type Connection, ToolServerError } from "@wirescope/tool-server";
import { createBackOff, isFinalRefusal } from "@wirescope/tool-server/internal";

/**
 * One `subscriptions/listen` stream to a modern server, shared by all clients. It is replaced when its subjects change. If it ends or
 * cannot be opened, it is opened again after increasing delays, unless the server does not support it.
 */
export interface ListenStream {
  /** Subscribes to the current subjects. Rejects if the server refuses; then the previous stream stays open. */
  open(): Promise<void>;
  /** The session of the stream has ended. */
  forget(): void;
}

/** The delays before a lost subscription is requested again, in milliseconds. */
export const resubscribeBackOff = { firstMs: 1000, maxMs: 60_000 };

/** Whether a server refused a subscription, and would refuse it again later. */
export function isRefused(error: unknown): boolean {
  if (!ToolServerError.is(error) || error.code !== "CALL_REFUSED") return false;
  const { rpcCode } = error.details;
  return rpcCode === undefined || isFinalRefusal(rpcCode);
}

/** Creates a stream for subjects of one kind. `field` is the member of the filter that lists them. */
export function createListenStream(
  field: "resourceSubscriptions" | "taskIds",
  subjects: ReadonlyMap<string, unknown>,
  ready: () => Connection | undefined,
  clock: Clock,
): ListenStream {
  let listening: { close(): Promise<void> } | undefined;
  let renewing: Promise<void> | undefined;
  /** Whether the subjects changed since they were last sent. */
  let isStale = false;
  const backOff = createBackOff(resubscribeBackOff, clock);
  let cancelRetry = (): void => {};

  const open = (): Promise<void> => {
    isStale = true;
    renewing ??= renew()
      .catch((error: unknown) => {
        if (listening === undefined && !isRefused(error)) openLater();
        throw error;
      })
      .finally(() => {
        renewing = undefined;
      });
    return renewing;
  };
  const openLater = (): void => {
    cancelRetry();
    // The next session opens it.
    if (ready() === undefined) return;
    cancelRetry = clock.after(backOff.ended(), () => void open().catch(() => {}));
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
      cancelRetry();
      backOff.opened();
      void subscription.closed.then((how) => {
        if (how === "local" || listening !== subscription) return;
        listening = undefined;
        openLater();
      });
    });

  return {
    open,
    forget() {
      listening = undefined;
      cancelRetry();
    },
  };
}
