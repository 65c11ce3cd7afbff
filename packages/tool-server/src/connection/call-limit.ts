import type { Clock } from "../clock.js";
import { describeDuration } from "../duration.js";
import { ToolServerError } from "../errors.js";

/** The maximum delay of a Node timer, in milliseconds: a longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Limits a delay, including `Infinity`, to the maximum of a timer. */
export function timerMs(timeoutMs: number): number {
  return Math.min(timeoutMs, maxTimerMs);
}

/** A time limit that does not count the time in which a user is asked. */
export interface Silence {
  readonly timeoutMs: number;
  /** Whether a user is being asked now. Default: never. */
  readonly isPersonAsked: (() => boolean) | undefined;
  readonly clock: Clock;
}

/** Calls `act` after the time limit, unless the returned function is called first. */
export function afterSilence({ timeoutMs, isPersonAsked, clock }: Silence, act: () => void): () => void {
  let stop = (): void => {};
  const wait = (): void => {
    stop = clock.after(timeoutMs, () => (isPersonAsked?.() ? wait() : act()));
  };
  wait();
  return () => stop();
}

/** Creates CALL_TIMEOUT for a call that exceeded its total time. */
export function tooLong(method: string, server: string, totalTimeoutMs: number): ToolServerError {
  const problem = `${method} of the server ${JSON.stringify(server)} took longer than ${describeDuration(totalTimeoutMs)} in all, and was cancelled.`;
  const advice = "Allow more time, or look at what the server does.";
  return new ToolServerError("CALL_TIMEOUT", { problem, advice }, { details: { wasSent: true } });
}
