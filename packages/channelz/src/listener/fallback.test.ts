import type { Server as HttpServer } from "node:http";
import type { ServerHttp2Session } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "./listen.js";
import { openSession, rawRequest } from "./raw-caller.test.helper.js";

const listeners: ChannelzListener[] = [];
const start = async (options: ListenOptions = {}): Promise<ChannelzListener> => {
  const listener = await listenChannelz(createRegistry(), options);
  listeners.push(listener);
  return listener;
};
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close({ deadlineMs: 0 })));
});

const greet: NonNullable<ListenOptions["fallback"]> = (_, response) => {
  response.writeHead(200);
  response.end("hello");
};

test("requires no token for a public path, over either version of HTTP, and requires it for every other path", async () => {
  const { url } = await start({ token: "secret-token", fallback: greet, publicPaths: ["/healthz"] });
  expect((await fetch(`${url}/healthz?a=1`)).status).toBe(200);
  expect((await fetch(`${url}/healthz/more`)).status).toBe(401);
  expect((await fetch(`${url}/`)).status).toBe(401);
  const session = await openSession(url);
  const status = async (path: string): Promise<unknown> =>
    (await rawRequest(session, { ":path": path })).headers[":status"];
  expect([await status("/healthz"), await status("/other")]).toEqual([200, 401]);
  session.destroy();
});

test("checks Host and Origin for a public path too", async () => {
  const { url } = await start({ token: "secret-token", fallback: greet, publicPaths: ["/healthz"] });
  const reply = await fetch(`${url}/healthz`, { headers: { origin: "https://evil.example" } });
  expect(reply.status).toBe(403);
});

test("refuses a public address without TLS if TLS is required, even with a token", async () => {
  const options = { host: "0.0.0.0", token: "secret-token", requiresTls: true };
  await expect(start(options)).rejects.toMatchObject({ code: "LISTEN_EXPOSED" });
  await expect(start({ ...options, host: "127.0.0.1" })).resolves.toBeDefined();
});

test("allows pages of allowed origins to send and read the headers that the fallback needs", async () => {
  const origin = "https://tools.example";
  const { url } = await start({
    fallback: greet,
    allowedOrigins: [origin],
    cors: { methods: ["DELETE"], requestHeaders: ["x-asked"], responseHeaders: ["x-exposed"] },
  });
  const preflight = await fetch(url, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "DELETE" },
  });
  expect(preflight.headers.get("access-control-allow-methods")).toContain("DELETE");
  expect(preflight.headers.get("access-control-allow-headers")).toContain("x-asked");
  const reply = await fetch(url, { headers: { origin } });
  expect(reply.headers.get("access-control-expose-headers")).toContain("x-exposed");
});

test("passes the listening socket, the HTTP/1.1 server and each HTTP/2 session to the observer", async () => {
  const seen: (HttpServer | Server | ServerHttp2Session)[] = [];
  const requests: string[] = [];
  const { url } = await start({
    fallback: greet,
    observer: {
      onListening: (server) => void seen.push(server),
      onHttp1Server: (server) => {
        seen.push(server);
        server.on("request", ({ url: path }) => void requests.push(String(path)));
      },
      onHttp2Session: (session) => void seen.push(session),
    },
  });
  expect(seen).toHaveLength(2);
  expect(url).toContain(`:${((seen[1] as Server).address() as AddressInfo).port}`);
  await fetch(`${url}/seen`);
  expect(requests).toEqual(["/seen"]);
  const session = await openSession(url);
  expect(seen).toHaveLength(3);
  session.destroy();
});
