import type { Clock } from "../../../clock.js";

/** Resolves `delayMs` from now. Rejects with the signal's reason, and then leaves no timer behind. */
export function waitFor(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const stop = (): void => {
      callOff();
      reject(signal.reason);
    };
    const callOff = clock.after(delayMs, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}
