import type { Socket } from "node:net";

/**
 * Waits until a socket has come so far. Rejects with its error, with the signal's reason, or with an error where it ends
 * before; then it is destroyed.
 */
export function settleSocket<S extends Socket>(
  socket: S,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<S> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      socket.off(event, onReady).off("error", onError).off("close", onClose);
      signal.removeEventListener("abort", onAbort);
    };
    const fail = (error: unknown): void => {
      settle();
      // An error that comes later has nobody to go to.
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const onReady = (): void => {
      settle();
      resolve(socket);
    };
    const onError = (error: Error): void => fail(error);
    const onClose = (): void => fail(Object.assign(new Error("The connection was closed"), { code: "ECONNRESET" }));
    const onAbort = (): void => fail(signal.reason);
    socket.once(event, onReady).once("error", onError).once("close", onClose);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
