import { expect, test, vi } from "vitest";

test("[CZ-SOCKET-6] [CZ-SOCKET-7] the example shows a process that serves and calls with Connect, from both ends", async () => {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void printed.push(line));
  await import(new URL("../../../../examples/connect-node/main.js", import.meta.url).href);
  log.mockRestore();
  expect(printed).toEqual([
    "fresh apples",
    "[not_found] sold out",
    "[canceled] The operation was aborted due to timeout",
    "to the shop: 3 calls, 1 succeeded, 2 failed",
    "shop: 3 calls, 1 succeeded, 2 failed",
    "client: 3 streams, 2 succeeded, 1 failed; 3 messages sent, 1 received",
    "server: 3 streams, 2 succeeded, 1 failed; 1 messages sent, 3 received",
  ]);
});
