import type { Cancellation } from "../cancellation.js";
import { ToolServerError } from "../errors.js";

/** Waits for `promise` until the caller gives up; what was begun for all goes on. */
export function abortable<T>(promise: Promise<T>, signal: Cancellation | undefined, server: string): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(ToolServerError.is(signal.reason) ? signal.reason : calledOff(server));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function calledOff(server: string): ToolServerError {
  const problem = `The call to the server ${JSON.stringify(server)} was cancelled.`;
  return new ToolServerError("CALL_CANCELLED", { problem, advice: "" });
}
