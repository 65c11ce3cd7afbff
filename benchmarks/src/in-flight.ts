/** Makes so many calls, and keeps so many of them in flight. */
export async function callInFlight(call: () => Promise<unknown>, inFlight: number, calls: number): Promise<void> {
  let left = calls;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (left > 0) {
        left -= 1;
        await call();
      }
    }),
  );
}

/** How many calls are made in a second, with so many in flight. */
export async function rateOf(call: () => Promise<unknown>, inFlight: number, calls: number): Promise<number> {
  const start = performance.now();
  await callInFlight(call, inFlight, calls);
  return (calls / (performance.now() - start)) * 1000;
}
