import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type ClientHttp2Session, connect, createServer as createHttp2Server } from "node:http2";
import { createRequire } from "node:module";
import type { Server } from "node:net";
import { text } from "node:stream/consumers";
import { createRegistry } from "@wirescope/channelz";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { observeProcess } from "../process/observe-process.js";
import { portOf } from "../sockets/connections.test.helper.js";
import { Probe } from "./both-ends.test.helper.js";

// The frameworks as applications use them: the instrument has no code for any of them.

const require = createRequire(import.meta.url);

// biome-ignore lint/suspicious/noExplicitAny: not all of them bring types, and what is used here is little
type Framework = any;

function broken(): Response {
  const chunks = [() => new TextEncoder().encode("half of")];
  const body = new ReadableStream({
    pull(controller) {
      const next = chunks.shift();
      if (next === undefined) controller.error(new Error("broken"));
      else controller.enqueue(next());
    },
  });
  return new Response(body);
}

/** Serves `/`, which greets; `/echo`, which returns the JSON of the request; and `/broken`, which aborts its response. */
const frameworks: readonly (readonly [string, string, () => Server | Promise<Server>])[] = [
  [
    "express",
    "1.1",
    () => {
      const express: Framework = require("express");
      const app = express();
      app.get("/", (_request: Framework, response: Framework) => response.send("hello"));
      app.post("/echo", express.json(), ({ body }: Framework, response: Framework) => response.json(body));
      app.get("/broken", (_request: Framework, response: Framework) =>
        response.write("half of", () => response.destroy()),
      );
      return app.listen(0, "127.0.0.1");
    },
  ],
  ["@hono/node-server", "1.1", () => serveHono({})],
  ["@hono/node-server", "2", () => serveHono({ createServer: createHttp2Server })],
  ["fastify", "1.1", () => serveFastify({})],
  ["fastify", "2", () => serveFastify({ http2: true })],
];

function serveHono(options: object): Server {
  const { Hono }: Framework = require("hono");
  const { serve }: Framework = require("@hono/node-server");
  const app = new Hono();
  app.get("/", (context: Framework) => context.text("hello"));
  app.post("/echo", async (context: Framework) => context.json(await context.req.json()));
  app.get("/broken", broken);
  return serve({ ...options, fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
}

async function serveFastify(options: object): Promise<Server> {
  const fastify: Framework = require("fastify");
  const app = (fastify.default ?? fastify)(options);
  app.get("/", async () => "hello");
  app.post("/echo", async ({ body }: Framework) => body);
  app.get("/broken", (_request: Framework, reply: Framework) => {
    reply.hijack();
    reply.raw.write("half of", () => reply.raw.destroy());
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server;
}

/** An HTTP/1.1 or HTTP/2 client with one connection; a request resolves when the response has ended, successfully or not. */
function createClient(httpVersion: string, port: number): (path: string, body?: string) => Promise<unknown> {
  const type = { "content-type": "application/json" };
  if (httpVersion === "2") {
    const session: ClientHttp2Session = connect(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    return (path, body) => {
      const stream = session.request({ ":path": path, ...(body !== undefined && { ":method": "POST", ...type }) });
      stream.end(body);
      return text(stream).catch(() => undefined);
    };
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return async (path, body) => {
    const target = { host: "127.0.0.1", port, path, agent };
    const clientRequest = request(body === undefined ? target : { ...target, method: "POST", headers: type });
    clientRequest.end(body);
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    return text(response).catch(() => undefined);
  };
}

describe.each(frameworks)("%s over HTTP/%s", (_, httpVersion, serve) => {
  test("[CZ-SERVER-3] shows the same calls on both ends", async () => {
    const registry = createRegistry();
    const observation = observeProcess(registry);
    onTestFinished(() => observation.stop());
    // Some of them print errors.
    const print = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => print.mockRestore());
    const server = await serve();
    onTestFinished(() => void server.close());
    if (!server.listening) await once(server, "listening");
    const sendRequest = createClient(httpVersion, portOf(server));
    expect(await sendRequest("/")).toBe("hello");
    const probe = await Probe.of(registry);
    expect(await sendRequest("/echo", '{"value":1}')).toBe('{"value":1}');
    await sendRequest("/missing");
    await sendRequest("/broken");
    await probe.expect({
      serverCalls: [4, 2, 2],
      channelCalls: [4, 2, 2],
      serverStreams: [4, 3, 1],
      requestMessages: [1, 1],
      responseMessages: [3, 3],
    });
  });
});
