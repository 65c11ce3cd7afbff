import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../tool-servers.test.helper.js";
import { type EndpointRequest, readBody } from "./http-request.js";

test("drops what it has read of a body as soon as the body exceeds the limit", async () => {
  const read: (string | undefined)[] = [];
  let listeners: readonly number[] = [];
  const listenersOf = (request: EndpointRequest): readonly number[] =>
    ["data", "end"].map((event) => request.listenerCount(event));
  const port = await serve(async (request, response) => {
    const before = listenersOf(request);
    read.push(await readBody(request, 10));
    listeners = listenersOf(request).map((count, index) => count - (before[index] ?? 0));
    response.end();
  });
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  // The rest of the body never arrives.
  socket.write("POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
  socket.write("8\r\n12345678\r\n");
  socket.write("8\r\n12345678\r\n");
  await once(socket, "data");
  expect(read).toEqual([undefined]);
  expect(listeners).toEqual([0, 0]);
});
