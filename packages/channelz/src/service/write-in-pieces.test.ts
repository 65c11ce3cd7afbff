import { once } from "node:events";
import { type ClientHttp2Session, connect, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endInPieces, pieceBytes } from "./write-in-pieces.js";

let handle: (stream: ServerHttp2Stream) => void;
let server: Http2Server;
let session: ClientHttp2Session;
beforeAll(async () => {
  server = createServer().on("stream", (stream: ServerHttp2Stream) => handle(stream));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(() => {
  session.destroy();
  server.close();
});

const bytesOf = (length: number): Buffer => Buffer.from(Uint8Array.from({ length }, (_, i) => i % 251));

test.each([0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 2 * pieceBytes, 7 * pieceBytes + 3])(
  "writes all %i bytes, and trailers after them",
  async (length) => {
    handle = (stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-end": "yes" }));
      endInPieces(stream, bytesOf(length));
    };
    const stream = session.request({ ":path": "/" });
    const trailers = once(stream, "trailers");
    expect((await buffer(stream)).equals(bytesOf(length))).toBe(true);
    expect((await trailers)[0]).toMatchObject({ "x-end": "yes" });
  },
);

test("reduces the buffered bytes piece by piece while the client reads", async () => {
  const lengths: number[] = [];
  handle = (stream) => {
    stream.respond({ ":status": 200 });
    endInPieces(stream, bytesOf(20 * pieceBytes));
    const timer = setInterval(() => lengths.push(stream.writableLength / pieceBytes), 1);
    stream.on("close", () => clearInterval(timer));
  };
  const stream = session.request({ ":path": "/" });
  let taken = 0;
  for await (const chunk of stream) {
    taken += chunk.length;
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  expect(taken).toBe(20 * pieceBytes);
  expect(new Set(lengths.filter((length) => length > 0 && length < 20)).size).toBeGreaterThan(3);
});
