import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { handleSafely } from "./http-tool-server.js";

test("keeps running after invalid and aborted requests", async () => {
  const server = createServer(
    handleSafely(async (request, response) => void response.end(JSON.parse(await text(request)))),
  );
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const send = async (body: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}`, { method: "POST", body })).status;
  expect(await send("junk")).toBe(400);
  const caller = connect(port, "127.0.0.1");
  caller.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf");
  await once(server, "request");
  caller.destroy();
  expect(await send('"words"')).toBe(200);
});
