import type { Clock } from "../clock.js";
import { describeDuration } from "../duration.js";
import { ToolServerError } from "../errors.js";

/** The longest that a timer of Node can wait, in milliseconds: one that is longer would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** A time for a timer: `Infinity`, and all that is too long, is as long as can be. */
export function timerMs(timeoutMs: number): number {
  return Math.min(timeoutMs, maxTimerMs);
}

/** How long there may be silence, if a person may be asked in between: the time that they take does not count. */
export interface Silence {
  readonly timeoutMs: number;
  /** Whether somebody is asked right now. Default: nobody ever is. */
  readonly isPersonAsked: (() => boolean) | undefined;
  readonly clock: Clock;
}

/** Acts after so long a silence, unless the returned function is called before. */
export function afterSilence({ timeoutMs, isPersonAsked, clock }: Silence, act: () => void): () => void {
  let stop = (): void => {};
  const wait = (): void => {
    stop = clock.after(timeoutMs, () => (isPersonAsked?.() ? wait() : act()));
  };
  wait();
  return () => stop();
}

/** That a call took longer than it may in all. */
export function tooLong(method: string, server: string, totalTimeoutMs: number): ToolServerError {
  const problem = `${method} of the server ${JSON.stringify(server)} took longer than ${describeDuration(totalTimeoutMs)} in all, and was cancelled.`;
  const advice = "Allow more time, or look at what the server does.";
  return new ToolServerError("CALL_TIMEOUT", { problem, advice }, { details: { wasSent: true } });
}
