import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { pollOptions } from "../gateway.test.helper.js";
import { createEventStreams, type EventStream } from "./event-streams.js";
import { type EndpointResponse, isDisconnected } from "./http-request.js";

interface Opened {
  readonly stream: EventStream;
  readonly response: EndpointResponse;
  read(): void;
  /** The text that it received. */
  readonly text: () => string;
}

/** Streams to clients that read, or do not. */
async function start(maxBytes: number): Promise<(reads: boolean) => Promise<Opened>> {
  const streams = createEventStreams(maxBytes);
  const responses: EndpointResponse[] = [];
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
    await expect.poll(() => responses.length, pollOptions).toBe(known + 1);
    const response = responses[known] as EndpointResponse;
    return { stream: streams.open(response), response, read, text: () => text };
  };
}

const mega = 1_000_000;
const notice = { jsonrpc: "2.0", method: "notifications/message", params: { data: "x".repeat(mega) } } as const;

test("limits the backlog of a stream: a notification is dropped, a request fails, and a response ends the stream", async () => {
  const open = await start(3 * mega);
  const { stream, response } = await open(false);
  for (let turn = 0; turn < 20; turn += 1) stream.send(notice);
  const waited = response.writableLength;
  expect(waited).toBeLessThan(5 * mega);
  expect(() => stream.send({ jsonrpc: "2.0", id: "a", method: "roots/list" })).toThrow(/does not read/);
  expect(response.writableLength).toBeLessThanOrEqual(waited);
  expect(stream.isOpen).toBe(true);
  stream.respond({ jsonrpc: "2.0", id: 1, result: {} });
  await expect.poll(() => stream.isOpen, pollOptions).toBe(false);
  expect(isDisconnected(response)).toBe(true);
});
