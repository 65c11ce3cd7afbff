import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { sendJson } from "./http-messages.js";

const head = "host: localhost\r\n\r\n";

/** Sends pipelined requests, passes their responses to `respond` once all have arrived, and reads until the end. */
async function exchange(
  requests: string,
  count: number,
  respond: (responses: ServerResponse[]) => void,
): Promise<string> {
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => {
    if (responses.push(response) === count) respond(responses);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.end(requests);
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  return text;
}

const message = (id: number, text = "hello") => ({ jsonrpc: "2.0", id, result: { text } }) as const;

test("sends complete responses in the order of their requests, even if a later one is ready first", async () => {
  const text = await exchange(`GET /1 HTTP/1.1\r\n${head}GET /2 HTTP/1.1\r\n${head}`, 2, ([first, second]) => {
    sendJson(second!, 200, message(2, "zweiter, größer"));
    sendJson(first!, 200, message(1), { "x-more": "1" });
  });
  const parts = text.split(/(?=HTTP\/1\.1 200)/).map((text) => text.split("\r\n\r\n"));
  expect(parts.map(([, body]) => JSON.parse(body ?? ""))).toEqual([message(1), message(2, "zweiter, größer")]);
  expect(parts.map(([lines]) => /content-length: (\d+)/.exec(lines ?? "")?.[1])).toEqual(
    parts.map(([, body]) => String(Buffer.byteLength(body ?? ""))),
  );
  expect(text).toContain("x-more: 1");
});

test("sends no body in response to HEAD", async () => {
  const text = await exchange(`HEAD / HTTP/1.1\r\n${head}`, 1, ([only]) => sendJson(only!, 405, message(1)));
  expect(text).toMatch(/^HTTP\/1\.1 405 [^{]*\r\n\r\n$/);
});

test("sends a response that is larger than the socket buffer completely", async () => {
  const large = "ü".repeat(3_000_000);
  const text = await exchange(`GET / HTTP/1.1\r\n${head}`, 1, ([only]) => sendJson(only!, 200, message(1, large)));
  expect(JSON.parse(text.slice(text.indexOf("{")))).toEqual(message(1, large));
});
