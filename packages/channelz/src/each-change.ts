/**
 * Yields at once, and again after each change that `watch` reports, until the signal aborts. Changes while the consumer is busy are
 * coalesced into one.
 */
export async function* eachChange(
  watch: (listener: () => void) => () => void,
  signal: AbortSignal,
): AsyncGenerator<undefined> {
  let wake = (): void => {};
  let isDue = true;
  const wakeUp = (): void => {
    isDue = true;
    wake();
  };
  const stop = watch(wakeUp);
  signal.addEventListener("abort", wakeUp);
  try {
    while (!signal.aborted) {
      if (isDue) {
        isDue = false;
        yield;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    signal.removeEventListener("abort", wakeUp);
    stop();
  }
}
