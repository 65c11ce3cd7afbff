import type { Clock } from "../clock.js";
import { describeDuration } from "../duration.js";
import { ToolServerError } from "../errors.js";

/** A time limit that does not run out while a user signs in. */
export interface IdleTimeout {
  readonly timeoutMs: number;
  /** Whether a user is being asked to sign in now. Default: never. */
  readonly isWaitingForUser: (() => boolean) | undefined;
  readonly clock: Clock;
}

/** Calls `act` after the time limit, unless the returned function is called first. */
export function afterIdleTimeout({ timeoutMs, isWaitingForUser, clock }: IdleTimeout, act: () => void): () => void {
  let stop = (): void => {};
  const wait = (): void => {
    stop = clock.after(timeoutMs, () => (isWaitingForUser?.() ? wait() : act()));
  };
  wait();
  return () => stop();
}

/** Creates CALL_TIMEOUT for a call that exceeded its total time. */
export function tooLong(method: string, server: string, totalTimeoutMs: number): ToolServerError {
  const problem = `${method} on the server ${JSON.stringify(server)} took longer than ${describeDuration(totalTimeoutMs)} in total, and was cancelled.`;
  const advice = "Increase the time limit, or check what the server is doing.";
  return new ToolServerError("CALL_TIMEOUT", { problem, advice }, { details: { wasSent: true } });
}
