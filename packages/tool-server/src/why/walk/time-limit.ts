import type { Clock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";

interface Limit {
  readonly clock: Clock;
  readonly answerMs: number;
  readonly signal: AbortSignal;
}

/** Does something that may take as long as one answer may. Rejects with CALL_TIMEOUT where it takes longer, or the walk is over. */
export async function within<T>(
  { clock, answerMs, signal }: Limit,
  task: (signal: AbortSignal) => Promise<T>,
  timeMs: number = answerMs,
): Promise<T> {
  const limit = new AbortController();
  const both = AbortSignal.any([signal, limit.signal]);
  const callOff = clock.after(timeMs, () => limit.abort(tooLong(timeMs)));
  let onAbort = (): void => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      onAbort = () => reject(both.reason);
      if (both.aborted) return onAbort();
      both.addEventListener("abort", onAbort, { once: true });
      task(both).then(resolve, reject);
    });
  } finally {
    both.removeEventListener("abort", onAbort);
    callOff();
  }
}

function tooLong(timeMs: number): ToolServerError {
  return new ToolServerError("CALL_TIMEOUT", { problem: `Nothing came within ${timeMs / 1000} s.`, advice: "" });
}

/** That the walk took too long. */
export function walkOver(totalMs: number): ToolServerError {
  const problem = `The walk took longer than ${totalMs / 1000} s, and was ended.`;
  return new ToolServerError("CALL_TIMEOUT", { problem, advice: "" });
}
