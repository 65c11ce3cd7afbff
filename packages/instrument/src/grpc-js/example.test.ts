import { expect, test, vi } from "vitest";

test("[CZ-SOCKET-7] [CZ-ADDR-4] the example shows a process that uses grpc-js, with its cancelled call and its Unix socket", async () => {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void printed.push(line));
  await import(new URL("../../../../examples/grpc-js/main.js", import.meta.url).href);
  log.mockRestore();
  expect(printed).toEqual([
    "Hello Ada",
    "Hello Grace",
    "whom?",
    "Cancelled on client",
    "Hello Barbara",
    "channel to unix:…/greeter.sock: 5 calls, 2 failed",
    "  socket to …/greeter.sock: 5 streams, 1 failed; 5 messages out, 3 in",
    "server: 5 calls, 2 failed",
    "  socket at …/greeter.sock: 5 streams, 1 failed; 3 messages out, 5 in",
  ]);
});
