import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterEach, expect, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { createGuard, type GuardOptions, type Verdict } from "./guard.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "./listen.js";
import {
  eventually,
  grpcFrame,
  openSession,
  openSocket,
  portOf,
  rawGrpc,
  rawRequest,
  readToEnd,
} from "./raw-caller.test.helper.js";

const getServers = "/rpc.channelz.v1.Channelz/GetServers";

const judge = (
  headers: Record<string, string>,
  options: Partial<GuardOptions> = {},
  httpVersion: 1 | 2 = 1,
  method = "POST",
): Verdict =>
  createGuard({ isLocal: true, allowedHosts: [], allowedOrigins: [], checkToken: undefined, ...options })({
    httpVersion,
    method,
    path: "/",
    headers,
    isEncrypted: false,
  });

test.each(["localhost", "localhost:4690", "LOCALHOST.", "app.localhost", "127.0.0.1", "127.8.8.8:1", "[::1]:4690"])(
  "accepts the Host %s",
  (host) => {
    expect(judge({ host }).outcome).toBe("pass");
  },
);

test.each([
  "evil.example",
  "localhost.evil.example",
  "evil.example:4690",
  "10.0.0.1",
  "[fd00::1]",
  "0.0.0.0",
  "localhost@evil.example",
  "a b",
  "",
  "127.0.0.1.evil.example",
])("[CZ-D-ACCESS-4] refuses the Host %j on a local listener", (host) => {
  expect(judge({ host })).toMatchObject({ outcome: "refuse", status: { code: Code.PermissionDenied } });
});

test("[CZ-D-ACCESS-4] refuses an HTTP/1.1 request without a Host", () => {
  expect(judge({}).outcome).toBe("refuse");
});

test("accepts every address but only the given names on a public listener", () => {
  const options = { isLocal: false, allowedHosts: ["tools.example"] };
  expect(judge({ host: "10.0.0.1:4690" }, options).outcome).toBe("pass");
  expect(judge({ host: "Tools.Example:4690" }, options).outcome).toBe("pass");
  expect(judge({ host: "evil.example" }, options).outcome).toBe("refuse");
});

test("accepts any authority over HTTP/2 from a gRPC client, but not from a browser", () => {
  expect(judge({ ":authority": "anything.example" }, {}, 2).outcome).toBe("pass");
  expect(judge({ ":authority": "anything.example", "sec-fetch-site": "same-origin" }, {}, 2).outcome).toBe("refuse");
  expect(judge({ ":authority": "localhost:1", host: "evil.example", "sec-fetch-mode": "cors" }, {}, 2).outcome).toBe(
    "refuse",
  );
  expect(judge({ ":authority": "localhost:1", "sec-fetch-dest": "empty" }, {}, 2).outcome).toBe("pass");
});

test("[CZ-D-ACCESS-5] lets a page of the listener itself call, but no page of another origin", () => {
  const host = "localhost:4690";
  expect(judge({ host, origin: "http://localhost:4690" }).outcome).toBe("pass");
  for (const origin of [
    "http://localhost:9999",
    "https://localhost:4690",
    "http://127.0.0.1:4690",
    "https://evil.example",
    "null",
    "",
  ]) {
    expect(judge({ host, origin })).toMatchObject({ outcome: "refuse", status: { code: Code.PermissionDenied } });
  }
});

test("[CZ-D-ACCESS-5] detects a request of another site that hides its origin by Sec-Fetch-Site", () => {
  const host = "localhost:4690";
  expect(judge({ host, "sec-fetch-site": "cross-site" }).outcome).toBe("refuse");
  expect(judge({ host, "sec-fetch-site": "same-site" }).outcome).toBe("refuse");
  expect(judge({ host, "sec-fetch-site": "same-origin" }).outcome).toBe("pass");
  expect(judge({ host, "sec-fetch-site": "none" }).outcome).toBe("pass");
});

test("sends CORS headers to an allowed origin, whose preflight needs no token", () => {
  const options = { allowedOrigins: ["https://tools.example"], checkToken: () => false };
  const headers = { host: "localhost", origin: "https://tools.example", "access-control-request-method": "POST" };
  expect(judge(headers, options, 1, "OPTIONS")).toEqual({ outcome: "preflight", origin: "https://tools.example" });
  expect(judge(headers, options)).toMatchObject({ outcome: "refuse", origin: "https://tools.example" });
  expect(judge(headers, { ...options, checkToken: undefined })).toEqual({
    outcome: "pass",
    origin: "https://tools.example",
  });
});

test.each(["*", "null", "tools.example", "https://tools.example/"])(
  "rejects %j in allowedOrigins with an error",
  (origin) => {
    expect(() => judge({}, { allowedOrigins: [origin] })).toThrow(TypeError);
  },
);

const listeners: ChannelzListener[] = [];
const start = async (options: ListenOptions): Promise<ChannelzListener> => {
  const listener = await listenChannelz(createRegistry(), options);
  listeners.push(listener);
  return listener;
};
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close({ deadlineMs: 0 })));
});

const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

test("[CZ-D-ACCESS-3] refuses in the protocol of the caller", async () => {
  const { url, stats } = await start({ token: "s3cret" });
  const session = await openSession(url);

  const grpc = await rawGrpc(session, getServers);
  expect(grpc).toMatchObject({ grpcStatus: Code.Unauthenticated, trailers: {}, headers: { ":status": 200 } });
  expect(grpc.grpcMessage).toContain("Bearer");

  const web = await rawGrpc(session, getServers, grpcFrame(), { "content-type": "application/grpc-web+proto" });
  expect(web.headers).toMatchObject({
    ":status": 200,
    "content-type": "application/grpc-web+proto",
    "grpc-status": "16",
  });

  const stream = await rawGrpc(session, "/grpc.health.v1.Health/Watch", grpcFrame(), {
    "content-type": "application/connect+json",
  });
  expect(stream.headers).toMatchObject({ ":status": 200, "content-type": "application/connect+json" });
  expect(stream.body[0]).toBe(2);
  expect(JSON.parse(stream.body.subarray(5).toString())).toMatchObject({ error: { code: "unauthenticated" } });

  const connectPost = await fetch(`${url}${getServers}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(connectPost.status).toBe(401);
  expect(connectPost.headers.get("www-authenticate")).toBe("Bearer");
  expect(await connectPost.json()).toMatchObject({ code: "unauthenticated" });

  const connectGet = await fetch(`${url}${getServers}?connect=v1&encoding=json&message={}`);
  expect(connectGet.status).toBe(401);
  expect(await connectGet.json()).toMatchObject({ code: "unauthenticated" });

  const plain = await fetch(url);
  expect(plain.status).toBe(401);
  expect(plain.headers.get("content-type")).toContain("text/plain");
  expect(await plain.text()).toContain("authorization: Bearer");

  expect(stats().requestsRefused).toBe(6);
  session.destroy();
});

test("[CZ-D-ACCESS-3] accepts the token in every protocol, a wrong one in none, and repeats neither in a response", async () => {
  const { url } = await start({ token: "s3cret" });
  const session = await openSession(url);
  const json = { "content-type": "application/json" };
  const post = (headers: Record<string, string>) =>
    fetch(`${url}${getServers}`, { method: "POST", headers: { ...json, ...headers }, body: "{}" });

  expect((await rawGrpc(session, getServers, grpcFrame(), bearer("s3cret"))).grpcStatus).toBe(0);
  expect((await rawGrpc(session, getServers, grpcFrame(), { authorization: "bearer s3cret" })).grpcStatus).toBe(0);
  expect((await post(bearer("s3cret"))).status).toBe(200);
  for (const wrong of ["S3cret", "s3cre", "s3crets", "x"]) {
    const response = await rawGrpc(session, getServers, grpcFrame(), bearer(wrong));
    expect(response.grpcStatus).toBe(Code.Unauthenticated);
    expect(response.grpcMessage).not.toMatch(/s3c/i);
  }
  expect((await post({ authorization: "Basic s3cret" })).status).toBe(401);
  expect((await post({ authorization: "s3cret" })).status).toBe(401);
  session.destroy();
});

test("requires the token for reflection, health and unknown paths too", async () => {
  const { url } = await start({ token: "s3cret" });
  const session = await openSession(url);
  for (const path of [
    "/grpc.health.v1.Health/Check",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/a.B/C",
  ]) {
    expect((await rawGrpc(session, path)).grpcStatus).toBe(Code.Unauthenticated);
  }
  session.destroy();
});

test("uses a replaced token file without a restart, and ignores a half-written one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-token-"));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "first\n");
  const { url } = await start({ tokenFile });
  const session = await openSession(url);
  const statusWith = async (token: string) =>
    (await rawGrpc(session, getServers, grpcFrame(), bearer(token))).grpcStatus;

  expect(await statusWith("first")).toBe(0);
  writeFileSync(tokenFile, "");
  expect(await statusWith("second")).toBe(Code.Unauthenticated);
  expect(await statusWith("first")).toBe(0);
  writeFileSync(join(folder, "next"), "second");
  renameSync(join(folder, "next"), tokenFile);
  expect(await statusWith("second")).toBe(0);
  expect(await statusWith("first")).toBe(Code.Unauthenticated);
  writeFileSync(tokenFile, "third");
  await eventually(async () => (await statusWith("second")) === Code.Unauthenticated);
  expect(await statusWith("third")).toBe(0);
  session.destroy();
  rmSync(folder, { recursive: true });
});

test("refuses to start with a token file that is missing, empty or contains two words", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-token-"));
  const tokenFile = join(folder, "token");
  await expect(listenChannelz(createRegistry(), { tokenFile })).rejects.toMatchObject({ code: "TOKEN_UNUSABLE" });
  for (const text of ["", " \n", "two words", "ümlaut"]) {
    writeFileSync(tokenFile, text);
    await expect(listenChannelz(createRegistry(), { tokenFile })).rejects.toMatchObject({ code: "TOKEN_UNUSABLE" });
  }
  await expect(listenChannelz(createRegistry(), { token: "" })).rejects.toMatchObject({ code: "TOKEN_UNUSABLE" });
  await expect(listenChannelz(createRegistry(), { token: "a", tokenFile })).rejects.toThrow(TypeError);
  rmSync(folder, { recursive: true });
});

test("[CZ-D-ACCESS-4] refuses a name that was rebound to this machine, over HTTP/1.1", async () => {
  const { address } = await start({});
  const socket = await openSocket(portOf(address));
  socket.write(
    `POST ${getServers} HTTP/1.1\r\nHost: rebound.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
  );
  const response = await readToEnd(socket);
  expect(response).toMatch(/^HTTP\/1\.1 403 /);
  expect(response).toContain("permission_denied");
});

test("[CZ-D-ACCESS-5] returns PERMISSION_DENIED to a page of another origin in Connect and gRPC-Web", async () => {
  const { url } = await start({});
  const headers = { origin: "https://evil.example" };
  const connect = await fetch(`${url}${getServers}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: "{}",
  });
  expect(connect.status).toBe(403);
  expect(connect.headers.get("access-control-allow-origin")).toBeNull();
  expect(await connect.json()).toMatchObject({ code: "permission_denied" });
  const web = await fetch(`${url}${getServers}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/grpc-web+proto" },
    body: new Uint8Array(grpcFrame()),
  });
  expect(web.headers.get("grpc-status")).toBe("7");
});

test("lets a page of an allowed origin pass its preflight and read the response, over both versions", async () => {
  const origin = "https://tools.example";
  const { url } = await start({ allowedOrigins: [origin], token: "s3cret" });
  const preflight = await fetch(`${url}${getServers}`, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
  expect(preflight.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("authorization");

  const json = { "content-type": "application/json", origin };
  const refused = await fetch(`${url}${getServers}`, { method: "POST", headers: json, body: "{}" });
  expect(refused.status).toBe(401);
  expect(refused.headers.get("access-control-allow-origin")).toBe(origin);

  const response = await fetch(`${url}${getServers}`, {
    method: "POST",
    headers: { ...json, ...bearer("s3cret") },
    body: "{}",
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  expect(response.headers.get("vary")).toContain("Origin");

  const session = await openSession(url);
  const overHttp2 = await rawRequest(
    session,
    { ":method": "POST", ":path": getServers, ...json, ...bearer("s3cret") },
    Buffer.from("{}"),
  );
  expect(overHttp2.headers).toMatchObject({ ":status": 200, "access-control-allow-origin": origin });
  session.destroy();
});
