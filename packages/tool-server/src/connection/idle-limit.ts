import type { ToolServerError } from "../errors.js";
import type { Clock } from "../process/clock.js";
import type { CallOptions } from "./connection.js";

/** How long there may be silence, where a person may be asked in between: the time that they take does not count. */
export interface Silence {
  readonly timeoutMs: number;
  /** Whether somebody is asked right now. */
  readonly isPersonAsked: () => boolean;
  readonly clock: Clock;
}

/** Acts after so long a silence, unless the returned function is called before. */
export function afterSilence({ timeoutMs, isPersonAsked, clock }: Silence, act: () => void): () => void {
  let callOff = (): void => {};
  const wait = (): void => {
    callOff = clock.after(timeoutMs, () => (isPersonAsked() ? wait() : act()));
  };
  wait();
  return () => callOff();
}

/** What ends a call early: its caller, or silence. */
export interface IdleLimit extends Required<Pick<CallOptions, "onProgress">> {
  /** Aborted with the failure where the silence was too long, else as the caller's own. */
  readonly signal: AbortSignal;
  /** The call is over. */
  end(): void;
}

/** Limits the silence of a call. The SDK's own limit knows nothing of people. */
export function limitIdle(
  { signal, onProgress }: Pick<CallOptions, "signal" | "onProgress">,
  silence: Silence,
  failure: () => ToolServerError,
): IdleLimit {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  const begin = (): (() => void) => afterSilence(silence, () => controller.abort(failure()));
  let callOff = begin();
  return {
    signal: controller.signal,
    onProgress(progress) {
      callOff();
      callOff = begin();
      onProgress?.(progress);
    },
    end() {
      callOff();
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
