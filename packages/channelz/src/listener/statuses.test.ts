import { describe, expect, onTestFinished, test } from "vitest";
import { createRegistry } from "../registry/registry.js";
import { type ListenOptions, listenChannelz } from "./listen.js";
import { grpcFrame, openSession, rawGrpc, rawRequest } from "./raw-caller.test.helper.js";

const getServers = "/rpc.channelz.v1.Channelz/GetServers";
const healthCheck = "/grpc.health.v1.Health/Check";

async function start(options: ListenOptions = {}): Promise<string> {
  const listener = await listenChannelz(createRegistry(), options);
  onTestFinished(() => listener.close({ deadlineMs: 0 }));
  return listener.url;
}

describe("malformed Connect requests", () => {
  // A field of three bytes that ends after one.
  const cutOff = Buffer.from([0x0a, 3, 1]);

  test.each([
    ["bad base64", `?connect=v1&encoding=proto&base64=1&message=${encodeURIComponent("=*!")}`],
    ["a malformed binary message", `?connect=v1&encoding=proto&base64=1&message=${cutOff.toString("base64url")}`],
    ["malformed JSON", `?connect=v1&encoding=json&message=${encodeURIComponent('{"serverId":')}`],
  ])("returns invalid_argument for a GET with %s", async (_, query) => {
    const response = await fetch(`${await start()}${getServers}${query}`);
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ code: "invalid_argument", message: expect.stringMatching(/./) });
  });

  test("returns invalid_argument for a POST with a malformed binary message", async () => {
    const url = await start();
    const post = (body: Uint8Array<ArrayBuffer>): Promise<Response> =>
      fetch(`${url}${getServers}`, { method: "POST", headers: { "content-type": "application/proto" }, body });
    const response = await post(cutOff);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_argument" });
    expect((await post(new Uint8Array())).status).toBe(200);
  });

  test("keeps the status 500 of an error of the service", async () => {
    const source = Object.assign(createRegistry(), { getServers: () => Promise.reject(new Error("broken")) });
    const listener = await listenChannelz(source);
    onTestFinished(() => listener.close({ deadlineMs: 0 }));
    const response = await fetch(`${listener.url}${getServers}?connect=v1&encoding=json&message=%7B%7D`);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ code: "internal" });
  });
});

describe("grpc-timeout", () => {
  test.each([
    ["gRPC", getServers, "application/grpc"],
    ["gRPC by Connect's router", healthCheck, "application/grpc"],
    ["gRPC-Web", healthCheck, "application/grpc-web+proto"],
  ])("refuses a malformed grpc-timeout over %s, and expires at once if it is zero", async (_, path, type) => {
    const session = await openSession(await start());
    onTestFinished(() => session.destroy());
    const statusOf = async (timeout: string): Promise<number | undefined> => {
      const headers = { "grpc-timeout": timeout, "content-type": type };
      const { grpcStatus, body } = await rawGrpc(session, path, grpcFrame(), headers);
      return grpcStatus ?? Number(/grpc-status: (\d+)/.exec(body.toString("latin1"))?.[1]);
    };
    for (const malformed of ["soon", "1", "S", "-1S", "123456789S", "1.5S", "1 S", "1s"]) {
      expect(await statusOf(malformed), malformed).toBe(3);
    }
    for (const zero of ["0S", "0n", "00000000m"]) expect(await statusOf(zero), zero).toBe(4);
    for (const fine of ["10S", "99999999H"]) expect(await statusOf(fine), fine).toBe(0);
  });
});

describe("gRPC-Web text format", () => {
  const headers = { "content-type": "application/grpc-web-text+proto" };
  const call = (url: string, body: string, more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}${healthCheck}`, { method: "POST", headers: { ...headers, ...more }, body });
  /** The frames of a string that may be padded in between. */
  const decode = (text: string): string =>
    (text.match(/[^=]+=*/g) ?? []).map((part) => Buffer.from(part, "base64").toString("latin1")).join("");

  test.each([
    ["at once", grpcFrame().toString("base64")],
    [
      "in padded parts",
      [grpcFrame().subarray(0, 1), grpcFrame().subarray(1)].map((b) => b.toString("base64")).join(""),
    ],
  ])("decodes a message that was base64-encoded %s", async (_, body) => {
    const response = await call(await start(), body);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/grpc-web-text+proto");
    const frames = decode(await response.text());
    // One message (status: SERVING), then the trailers.
    expect(frames.startsWith("\x00\x00\x00\x00\x02\x08\x01\x80")).toBe(true);
    expect(frames).toMatch(/grpc-status: 0/);
  });

  test("keeps the content type if it does not name the message format", async () => {
    const type = { "content-type": "application/grpc-web-text" };
    const response = await call(await start(), grpcFrame().toString("base64"), type);
    expect(response.headers.get("content-type")).toMatch(/^application\/grpc-web-text/);
    expect(decode(await response.text())).toMatch(/grpc-status: 0/);
  });

  test.each(["no base64!!!", "AAAAA", "A===", "AA=A"])("returns INVALID_ARGUMENT for the body %s", async (body) => {
    const response = await call(await start(), body);
    const status = response.headers.get("grpc-status") ?? /grpc-status: (\d+)/.exec(decode(await response.text()))?.[1];
    expect(status).toBe("3");
  });

  test("refuses a request without the token in the text format", async () => {
    const response = await call(await start({ token: "secret" }), grpcFrame().toString("base64"));
    expect(response.headers.get("grpc-status")).toBe("16");
    expect(response.headers.get("content-type")).toBe("application/grpc-web-text+proto");
  });
});

test("returns UNIMPLEMENTED for an unknown service or method in the caller's protocol, even with a fallback", async () => {
  const url = await start({ fallback: (_, response) => void response.writeHead(404).end("of the fallback") });
  const session = await openSession(url);
  onTestFinished(() => session.destroy());
  for (const path of ["/no.such.Service/Method", "/grpc.health.v1.Health/NoSuchMethod", "/short"]) {
    const reply = await rawGrpc(session, path);
    expect(reply.headers).toMatchObject({ ":status": 200, "content-type": "application/grpc" });
    expect(reply.grpcStatus, path).toBe(12);
    const web = await fetch(`${url}${path}`, { method: "POST", headers: { "content-type": "application/grpc-web" } });
    expect([web.status, web.headers.get("grpc-status")]).toEqual([200, "12"]);
    const connect = await fetch(`${url}${path}`, { method: "POST", headers: { "content-type": "application/proto" } });
    expect(connect.status).toBe(404);
    expect(await connect.json()).toMatchObject({ code: "unimplemented" });
  }
  const other = await rawRequest(session, { ":method": "POST", ":path": "/other", "content-type": "text/plain" });
  expect(other.body.toString()).toBe("of the fallback");
});
