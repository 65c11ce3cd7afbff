import { expect, test } from "vitest";
import { createRegistry } from "./registry.js";

test("counting a call allocates nothing", async () => {
  const registry = createRegistry();
  const channel = registry.addChannel();
  const subchannel = registry.addSubchannel({ parent: channel });
  const socket = registry.addSocket({ parent: subchannel });
  const countCalls = (count: number): void => {
    for (let i = 0; i < count; i += 1) {
      channel.callStarted();
      subchannel.callStarted();
      socket.localStreamStarted();
      socket.messageSent();
      socket.messageReceived();
      socket.streamSucceeded();
      subchannel.callSucceeded();
      channel.callFailed();
    }
  };
  // Warm-up, because compilation allocates.
  for (let round = 0; round < 20; round += 1) {
    countCalls(50_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const samples: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    countCalls(1);
    const before = process.memoryUsage().heapUsed;
    countCalls(200_000);
    samples.push(process.memoryUsage().heapUsed - before);
  }
  // One boxed number per call would be 3.2 MB. Other code allocates too, so the best round counts.
  expect(Math.min(...samples.map(Math.abs))).toBeLessThan(200_000);
});
