import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { patience } from "../gateway.test.helper.js";
import { createEventStreams, type EventStream, type WaitingLimits } from "./event-streams.js";
import type { HttpResponse } from "./http-exchange.js";

interface Opened {
  readonly stream: EventStream;
  readonly response: HttpResponse;
  read(): void;
  /** What it got. */
  readonly text: () => string;
}

/** Streams to clients that read, or do not. */
async function start(limits: WaitingLimits): Promise<(reads: boolean) => Promise<Opened>> {
  const streams = createEventStreams(limits);
  const responses: HttpResponse[] = [];
  const server = createServer((_, response) => void responses.push(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    streams.close();
    server.closeAllConnections();
    server.close();
  });
  return async (reads) => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const read = (): void => void socket.on("data", (chunk) => (text += chunk));
    if (reads) read();
    const known = responses.length;
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await expect.poll(() => responses.length, patience).toBe(known + 1);
    const response = responses[known] as HttpResponse;
    return { stream: streams.open(response), response, read, text: () => text };
  };
}

const mega = 1_000_000;
const eventsIn = (text: string): number => text.split("data: ").length - 1;
const notice = { jsonrpc: "2.0", method: "notifications/message", params: { data: "x".repeat(mega) } } as const;

test("what may wait for clients that do not read is bounded for all together, and who reads gets everything", async () => {
  const limits = { each: 100 * mega, together: 10 * mega, keptUp: 100_000 };
  const open = await start(limits);
  const reader = await open(true);
  const sleepers = [await open(false), await open(false), await open(false), await open(false)] as const;
  for (let turn = 1; turn <= 20; turn += 1) {
    for (const { stream } of [...sleepers, reader]) stream.send(notice);
    await expect.poll(() => eventsIn(reader.text()), patience).toBe(turn);
  }
  const waiting = (): number => sleepers.reduce((sum, { response }) => sum + response.writableLength, 0);
  expect(waiting()).toBeGreaterThan(5 * mega);
  expect(waiting()).toBeLessThan(limits.together + 5 * mega);
  // Who wakes up gets what waited, and what comes then.
  const [woken] = sleepers;
  woken.read();
  await expect.poll(() => woken.response.writableLength, patience).toBe(0);
  woken.stream.send({ jsonrpc: "2.0", method: "notifications/last" });
  await expect.poll(woken.text, patience).toContain("notifications/last");
  expect(eventsIn(woken.text())).toBeLessThan(20);
});

test("what may wait for one is bounded: a notice is lost, a question fails, and an answer ends the stream", async () => {
  const open = await start({ each: 3 * mega, together: 100 * mega, keptUp: 0 });
  const { stream, response } = await open(false);
  for (let turn = 0; turn < 20; turn += 1) stream.send(notice);
  const waited = response.writableLength;
  expect(waited).toBeLessThan(5 * mega);
  expect(() => stream.send({ jsonrpc: "2.0", id: "a", method: "roots/list" })).toThrow(/does not read/);
  expect(response.writableLength).toBeLessThanOrEqual(waited);
  expect(stream.isOpen).toBe(true);
  stream.answer({ jsonrpc: "2.0", id: 1, result: {} });
  await expect.poll(() => stream.isOpen, patience).toBe(false);
  expect(response.destroyed).toBe(true);
});
