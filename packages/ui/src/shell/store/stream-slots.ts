/** Browsers allow six connections to a host over HTTP/1.1, for all windows together. One is left for everything that is no stream. */
const maxStreams = 5;

/**
 * Runs a stream when fewer than five are open in all windows of the page; otherwise every request of every window would wait for them
 * without an end. Without Web Locks (plain HTTP from another machine) and over TLS (HTTP/2) there is no limit.
 */
export async function withStreamSlot(signal: AbortSignal, run: () => Promise<void>): Promise<void> {
  if (!("locks" in navigator) || location.protocol === "https:") return run();
  const started = new AbortController();
  const both = AbortSignal.any([signal, started.signal]);
  const request = (slot: number): Promise<void> =>
    navigator.locks.request(`wirescope stream ${slot}`, { signal: both }, async () => {
      // Two slots may become free at the same time.
      if (both.aborted) return;
      started.abort();
      await run();
    });
  await Promise.allSettled(Array.from({ length: maxStreams }, (_, slot) => request(slot)));
}
