import { ToolServerError } from "../errors.js";
import type { Clock } from "../process/clock.js";
import type { CallOptions } from "./connection.js";
import { describeDuration } from "./duration.js";

/** The longest that a timer of Node can wait, in milliseconds: one that is longer would fire at once. */
const longestMs = 2 ** 31 - 1;

/** A time for a timer: `Infinity`, and all that is too long, is as long as can be. */
export function timerMs(timeoutMs: number): number {
  return Math.min(timeoutMs, longestMs);
}

/** What ends a call early: its caller, or the time that it may take in all. */
export interface CallLimit {
  /** Aborted with CALL_TIMEOUT where the time is up, else as the caller's own. */
  readonly signal: AbortSignal;
  /** The call is over. */
  end(): void;
}

/** Joins the caller's signal with the limit on how long a call may take in all. The SDK looks at the latter at progress alone. */
export function limitCall(options: CallOptions, method: string, server: string, clock: Clock): CallLimit {
  const { signal, totalTimeoutMs = longestMs } = options;
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  const callOff = clock.after(timerMs(totalTimeoutMs), () => controller.abort(tooLong(method, server, totalTimeoutMs)));
  return {
    signal: controller.signal,
    end() {
      callOff();
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

function tooLong(method: string, server: string, totalTimeoutMs: number): ToolServerError {
  const message = `${method} of the server ${JSON.stringify(server)} took longer than ${describeDuration(totalTimeoutMs)} in all, and was called off. Allow more time, or look at what the server does.`;
  return new ToolServerError("CALL_TIMEOUT", message, { details: { wasSent: true } });
}
