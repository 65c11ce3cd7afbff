import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { createTimelineClient, createTimelineReader } from "@wirescope/channelz/timeline";
import { expect, onTestFinished, test } from "vitest";
import { createAdminClient, createPageClient } from "../admin/client/admin-client.js";
import { pollOptions } from "../gateway.test.helper.js";
import { type Browser, enter, type PageWorld, type RawResponse, send, startPage } from "./page.test.helper.js";

const listServers = "/wirescope.v1.AdminService/ListServers";
const reconnect = "/wirescope.v1.AdminService/Reconnect";

const headersOf = ({ cookie, key }: Browser): Record<string, string> => ({ cookie, "x-wirescope-csrf": key });

function call(
  { url }: PageWorld,
  path: string,
  headers: Record<string, string>,
  body: object = {},
): Promise<RawResponse> {
  return send(url, path, { "content-type": "application/json", ...headers }, "POST", JSON.stringify(body));
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "page", version: "1" } },
};
const mcpHeaders = { accept: "application/json, text/event-stream" };

test("[TS-D-PAGE-3] lets a browser call the services and tools with its cookie and its key", async () => {
  const world = await startPage();
  const headers = headersOf(await enter(world));
  for (const path of [listServers, "/grpc.channelz.v1.Channelz/GetServers", "/rpc.channelz.v1.Channelz/GetServers"]) {
    expect({ path, status: (await call(world, path, headers)).status }).toEqual({ path, status: 200 });
  }
  const own = { ...headers, origin: world.url, "sec-fetch-site": "same-origin" };
  expect((await call(world, listServers, own)).status).toBe(200);
  expect((await call(world, "/mcp", { ...own, ...mcpHeaders }, initialize)).status).toBe(200);
});

test("[TS-D-PAGE-3] refuses a cookie without its key, with the key of another session, and a key without its cookie", async () => {
  const world = await startPage();
  const [browser, other] = [await enter(world), await enter(world)];
  for (const path of [listServers, "/mcp"]) {
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await call(world, path, { ...mcpHeaders, ...headers }, initialize)).status;
    expect(await statusOf({ cookie: browser.cookie })).toBe(403);
    expect(await statusOf({ cookie: browser.cookie, "x-wirescope-csrf": "" })).toBe(403);
    expect(await statusOf({ cookie: browser.cookie, "x-wirescope-csrf": other.key })).toBe(403);
    expect(await statusOf({ "x-wirescope-csrf": browser.key })).toBe(401);
    expect(await statusOf({ cookie: "wirescope_page_1=wrong", "x-wirescope-csrf": browser.key })).toBe(401);
    expect(await statusOf({ cookie: "__proto__=1; =; ;;", "x-wirescope-csrf": browser.key })).toBe(401);
  }
});

test("says how to open the page to a browser without a token, with the same response for every path that is not part of the page", async () => {
  const world = await startPage();
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  const responses = await Promise.all(
    ["/nothing", "/mcp", listServers, "/metrics"].map((path) => send(world.url, path, { accept })),
  );
  for (const { status, headers, body } of responses) {
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toBe("Bearer");
    expect(body).toMatch(
      /^A token is required\. In a browser, open the page by a link\. Get a new link with .* page\.\n$/,
    );
  }
  const { status, body } = await send(world.url, "/nothing", { accept: "application/json, text/event-stream" });
  expect([status, body]).toEqual([401, "A token is required. Send the header authorization: Bearer <token>.\n"]);
});

test("[TS-D-PAGE-3] refuses requests from foreign origins and rebound names, even with the cookie and the key", async () => {
  const world = await startPage(undefined, {}, { listen: { allowedOrigins: ["https://tools.example"] } });
  const headers = headersOf(await enter(world));
  const { port } = new URL(world.url);
  for (const foreign of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: `http://127.0.0.1:${Number(port) - 1}` },
    { origin: `http://localhost:${port}` },
    { origin: `https://127.0.0.1:${port}` },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { host: `evil.example:${port}` },
    { host: `127.0.0.1.evil.example:${port}` },
  ]) {
    for (const path of [listServers, "/mcp", "/session"]) {
      const { status } = await call(world, path, { ...headers, ...foreign });
      expect({ foreign, path, status }).toEqual({ foreign, path, status: 403 });
    }
  }
  // A page that may use the token does not get the rights of the browser's session.
  const allowed = { ...headers, origin: "https://tools.example" };
  expect((await call(world, listServers, allowed)).status).toBe(401);
  const preflight = { origin: "https://tools.example", "access-control-request-method": "POST" };
  const { headers: allows } = await send(world.url, listServers, preflight, "OPTIONS");
  expect(String(allows["access-control-allow-headers"])).not.toContain("csrf");
  expect(allows["access-control-allow-credentials"]).toBeUndefined();
});

test("[TS-D-PAGE-3] opens the page by a link on another site, but not by a form, a frame or a script", async () => {
  const { url, access } = await startPage();
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect((await send(url, "/object/channel/1", link)).status).toBe(200);
  expect((await send(url, "/session", { ...link, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" })).status).toBe(
    403,
  );
  expect((await send(url, "/", { ...link, "sec-fetch-dest": "iframe" })).status).toBe(403);
  expect((await send(url, "/", { ...link, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" })).status).toBe(403);
  expect((await send(url, "/", link, "POST")).status).toBe(403);
  expect((await send(url, "/metrics", link)).status).toBe(403);
  // A replayed ticket is useless, wherever the link was found.
  const path = access.linkTo(url).slice(url.length);
  expect((await send(url, path, link)).status).toBe(200);
  expect((await send(url, path, link)).headers["set-cookie"]).toBeUndefined();
});

test("[TS-D-ADMIN-10] streams the gateway's objects to a browser, and shows earlier states of them and of the servers", async () => {
  const world = await startPage(undefined, { gone: { command: process.execPath, args: ["-e", "process.exit(3)"] } });
  const headers = headersOf(await enter(world));
  const authenticate: Interceptor = (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
  const transport = createConnectTransport({ baseUrl: world.url, httpVersion: "1.1", interceptors: [authenticate] });
  const timeline = createTimelineClient(transport);
  const names: string[] = [];
  for await (const { snapshot, cost } of timeline.watch()) {
    names.push(...[...snapshot.objects.values()].map(({ name }) => name));
    if (names.includes("gone") && (cost?.samples ?? 0) > 1) break;
  }
  const { range } = await timeline.history();
  expect((await timeline.at(range?.firstMs ?? 0))?.timeMs).toBe(range?.firstMs);
  const admin = createAdminClient(transport);
  const failed = async (): Promise<boolean> => {
    const { servers, time } = await admin.listServers({ time: timestampFromMs(Date.now()) });
    return time !== undefined && servers[0]?.failure !== undefined;
  };
  await expect.poll(failed, pollOptions).toBe(true);
  const { servers } = await admin.listServers({ time: timestampFromMs(1) });
  expect(servers).toMatchObject([{ name: "gone" }]);
});

test("streams objects and servers to a browser on one connection", async () => {
  const world = await startPage(undefined, { gone: { command: process.execPath, args: ["-e", "process.exit(3)"] } });
  const headers = headersOf(await enter(world, { rights: "reader" }));
  const transport = createConnectTransport({
    baseUrl: world.url,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
  const read = createTimelineReader();
  const seen = new Set<string>();
  for await (const { event } of createPageClient(transport).watch({})) {
    if (event.case === "timeline") for (const { name } of read(event.value).snapshot.objects.values()) seen.add(name);
    if (event.case === "servers")
      for (const { name, failure } of event.value.servers) if (failure) seen.add(`${name} failed`);
    if (seen.has("gone") && seen.has("gone failed")) break;
  }
});

test("[TS-D-PAGE-4] lets a reader read, but not change anything or call a tool", async () => {
  const world = await startPage();
  const reader = headersOf(await enter(world, { rights: "reader" }));
  expect(JSON.parse((await send(world.url, "/session", reader)).body)).toMatchObject({ rights: "reader" });
  expect((await call(world, listServers, reader)).status).toBe(200);
  const body = { server: "x" };
  for (const method of ["Reconnect", "SignOut", "Approve", "Reload", "SetDebug", "CompleteSignIn"]) {
    const { status } = await call(world, `/wirescope.v1.AdminService/${method}`, reader, body);
    expect({ method, status }).toEqual({ method, status: 403 });
  }
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, 14]), Buffer.from('{"server":"x"}')]).toString("latin1");
  const streaming = { ...reader, "content-type": "application/connect+json" };
  for (const method of ["SignIn", "Explain"]) {
    const stream = await send(world.url, `/wirescope.v1.AdminService/${method}`, streaming, "POST", frame);
    expect(stream.body).toContain("permission_denied");
  }
  expect((await call(world, "/mcp", { ...reader, ...mcpHeaders }, initialize)).status).toBe(403);
  // An administrator gets past the check: the error is about the unknown server.
  expect((await call(world, reconnect, headersOf(await enter(world)), body)).status).toBe(404);
});

test("[TS-D-PAGE-3] does not accept the session at paths outside of the page", async () => {
  const world = await startPage();
  const headers = headersOf(await enter(world));
  for (const path of ["/metrics", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/MCP", "/mcp/"]) {
    const { status } = await send(world.url, path, headers);
    expect({ path, status }).toEqual({ path, status: 401 });
  }
});

test("[TS-D-PAGE-3] checks the cookie and the key over HTTP/2 too, and separates the sessions of two browsers at /mcp", async () => {
  const world = await startPage();
  const browsers = [await enter(world), await enter(world)];
  const session = connect(world.url);
  onTestFinished(() => session.destroy());
  const post = async (headers: Record<string, string>): Promise<number> => {
    const stream = session.request({
      ":method": "POST",
      ":path": listServers,
      "content-type": "application/json",
      ...headers,
    });
    const status = new Promise<number>((resolve) => stream.once("response", (given) => resolve(given[":status"] ?? 0)));
    stream.end("{}");
    await text(stream);
    return status;
  };
  const [first, second] = browsers as [Browser, Browser];
  expect(await post(headersOf(first))).toBe(200);
  expect(await post({ cookie: first.cookie })).toBe(403);
  const { headers } = await call(world, "/mcp", { ...headersOf(first), ...mcpHeaders }, initialize);
  const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
  const within = { ...mcpHeaders, "mcp-session-id": String(headers["mcp-session-id"]) };
  expect((await call(world, "/mcp", { ...headersOf(first), ...within }, ping)).status).toBe(200);
  expect((await call(world, "/mcp", { ...headersOf(second), ...within }, ping)).status).toBe(404);
});
