import { once } from "node:events";
import { type ClientHttp2Session, connect, constants, createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { createRegistry } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { observeHttp2Session } from "./observe-client.js";
import { observeHttp2Server } from "./observe-server.js";

/** Everything that an application can see of varied traffic, as text. */
async function whatTheApplicationSees(
  observe: (server: Http2Server, session: ClientHttp2Session) => void,
): Promise<string[]> {
  const seen: string[] = [];
  const server = createServer();
  server.on("stream", (stream, headers) => {
    const path = String(headers[":path"]);
    const note = (what: string): void => void seen.push(`server ${path}: ${what}`);
    for (const event of ["aborted", "finish", "end", "close", "wantTrailers"]) stream.on(event, () => note(event));
    stream.on("error", (error: Error & { code?: string }) => note(`error ${error.code}`));
    note(`listeners ${stream.listenerCount("data")} ${stream.listenerCount("close")}`);
    if (path === "/reset") stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else if (path === "/throw") stream.destroy(new Error("broken"));
    else if (path === "/hang") stream.respond();
    else if (path === "/file") stream.respondWithFile(import.meta.filename);
    else if (path === "/missing") stream.respondWithFile("/nowhere/at/all");
    else if (path === "/push") {
      stream.pushStream({ ":path": "/pushed" }, (error, pushed, promised) => {
        note(`pushes ${error} ${promised[":path"]} ${pushed.listenerCount("close")}`);
        pushed.on("close", () => seen.push("server /pushed: close"));
        pushed.respond();
        pushed.end("extra");
        stream.respond();
        stream.end("hello");
      });
    } else if (path === "/large") {
      stream.respond();
      // Back-pressure: the return values of write() and the drains between them.
      const chunk = Buffer.alloc(40_000);
      let left = 20;
      const more = (): void => {
        while (left > 0) {
          left -= 1;
          if (!stream.write(chunk)) {
            note("full");
            stream.once("drain", more);
            return;
          }
        }
        stream.end();
      };
      more();
    } else {
      stream.respond({}, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-end": "1" }));
      stream.end("hello");
    }
    stream.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  observe(server, session);
  for (const event of ["connect", "close", "goaway", "error"]) session.on(event, () => seen.push(`session ${event}`));
  session.on("stream", (pushed, headers) => {
    const note = (what: string): void => void seen.push(`client ${headers[":path"]}: ${what}`);
    for (const event of ["push", "end", "close"]) pushed.on(event, () => note(event));
    pushed.resume();
  });
  for (const path of ["/plain", "/large", "/file", "/missing", "/push", "/reset", "/throw", "/hang", "/aborted"]) {
    const note = (what: string): void => void seen.push(`client ${path}: ${what}`);
    const controller = new AbortController();
    if (path === "/aborted") controller.abort();
    const stream = session.request({ ":method": "POST", ":path": path }, { signal: controller.signal });
    for (const event of ["response", "trailers", "end", "aborted", "finish"]) stream.on(event, () => note(event));
    stream.on("error", (error: Error & { code?: string }) => note(`error ${error.code ?? error.name}`));
    let bytes = 0;
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    stream.end("question");
    if (path === "/hang") stream.on("response", () => stream.close(constants.NGHTTP2_CANCEL));
    await once(stream, "close").catch(() => {});
    if (!stream.closed) await once(stream, "close");
    note(`closed with ${stream.rstCode} after ${bytes} bytes`);
  }
  session.close();
  await once(session, "close");
  server.close();
  await once(server, "close");
  return seen;
}

/** The order of events between the two ends varies, so each end is compared separately, stream by stream. */
function byStream(seen: readonly string[]): Record<string, string[]> {
  const streams: Record<string, string[]> = {};
  for (const words of seen) {
    const [stream, what] = words.includes(": ") ? words.split(": ") : ["session", words];
    streams[stream!] = [...(streams[stream!] ?? []), what!];
  }
  return streams;
}

test("delivers the same events, errors and back-pressure to an application with and without the instrument", async () => {
  const plain = byStream(await whatTheApplicationSees(() => {}));
  const registry = createRegistry();
  const observed = byStream(
    await whatTheApplicationSees((server, session) => {
      observeHttp2Server(registry, server);
      observeHttp2Session(registry, session);
    }),
  );
  expect(observed).toEqual(plain);
  expect(Object.keys(plain).length).toBeGreaterThan(10);
});
