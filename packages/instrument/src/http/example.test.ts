import { expect, test, vi } from "vitest";

test("[CZ-SOCKET-7] [CZ-D-STATE-4] the example shows a process that serves and fetches pages, with one that breaks off", async () => {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((...words) => void printed.push(words.join(" ")));
  await import(new URL("../../../../examples/http/main.js", import.meta.url).href);
  log.mockRestore();
  expect(printed).toEqual([
    "/ 200 hello",
    "/missing 404 no such page",
    "/broken aborted",
    "/ 200 hello",
    "channel: 4 calls, 2 succeeded, 2 failed",
    "  Created",
    "  IDLE -> CONNECTING",
    "  Created subchannel 4 (127.0.0.1:port)",
    "  CONNECTING -> READY",
    "  READY -> TRANSIENT_FAILURE: closed with calls in flight",
    "  TRANSIENT_FAILURE -> CONNECTING",
    "  CONNECTING -> READY",
    "server: 4 calls, 2 succeeded, 2 failed",
  ]);
});
