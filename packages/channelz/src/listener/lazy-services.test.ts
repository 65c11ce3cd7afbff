import { execFile } from "node:child_process";
import { connect } from "node:http2";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { Channelz } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { createRegistry } from "../registry/registry.js";
import type { MoreServices } from "./create-services.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "./listen.js";
import { openSession, rawGrpc } from "./raw-caller.test.helper.js";

const listeners: ChannelzListener[] = [];
/** Starts a listener whose services are not loaded without a call, however slow the machine is. */
const start = async (options: ListenOptions): Promise<ChannelzListener> => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const fallback: ListenOptions["fallback"] = (_, response) => void response.end("hello");
  const listener = await listenChannelz(createRegistry(), { fallback, ...options }).finally(() => vi.useRealTimers());
  listeners.push(listener);
  return listener;
};
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close({ deadlineMs: 0 })));
});

const none: MoreServices = { routes: () => {} };
const channelz = "/rpc.channelz.v1.Channelz/GetServers";

const callByHttp1 = (url: string, token?: string): Promise<Response> =>
  fetch(url + channelz, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
    body: "{}",
  });

test("loads the services once, at the first call over either version of HTTP", async () => {
  const services = vi.fn(() => none);
  const { url } = await start({ services });
  expect(await (await fetch(`${url}/mcp`)).text()).toBe("hello");
  expect(services).not.toHaveBeenCalled();
  const callByHttp2 = async (): Promise<number | undefined> => {
    const session = await openSession(url);
    const { grpcStatus } = await rawGrpc(session, channelz);
    session.destroy();
    return grpcStatus;
  };
  const [first, second, third] = await Promise.all([callByHttp1(url), callByHttp2(), callByHttp1(url)]);
  expect([first.status, second, third.status]).toEqual([200, 0, 200]);
  expect(services).toHaveBeenCalledTimes(1);
});

test("loads the services soon after the start if nobody calls", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const services = vi.fn(() => none);
  listeners.push(await listenChannelz(createRegistry(), { services }));
  vi.advanceTimersByTime(1999);
  await new Promise((resolve) => setImmediate(resolve));
  expect(services).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  await expect.poll(() => services.mock.calls.length).toBe(1);
});

test.each(["1.1", "2"] as const)(
  "responds to a call over HTTP/%s that waits for the services, with a body and without",
  async (httpVersion) => {
    for (const useBinaryFormat of [true, false]) {
      let arrive = (_: MoreServices): void => {};
      const services = new Promise<MoreServices>((resolve) => {
        arrive = resolve;
      });
      const listener = await start({ services: () => services });
      const transport = createConnectTransport({ baseUrl: listener.url, httpVersion, useBinaryFormat });
      // In binary form the request has no bytes.
      const reply = createClient(Channelz, transport).getServers({});
      await expect.poll(() => listener.stats().connectionsAccepted).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      arrive(none);
      expect((await reply).end).toBe(true);
    }
  },
);

test("does not load the services for an unauthorized caller over HTTP/1.1", async () => {
  const services = vi.fn(() => none);
  const { url } = await start({ services, token: "the-token-of-this-listener" });
  expect((await callByHttp1(url)).status).toBe(401);
  expect(services).not.toHaveBeenCalled();
  expect((await callByHttp1(url, "the-token-of-this-listener")).status).toBe(200);
});

test("returns UNAVAILABLE if the services cannot be loaded, keeps the rest working, and tries again at the next call", async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning.message);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const missing = new Error("no such file");
  const services = vi
    .fn(async () => none)
    .mockRejectedValueOnce(missing)
    .mockRejectedValueOnce(missing);
  const { url } = await start({ services });
  let session = await openSession(url);
  const reply = await rawGrpc(session, channelz);
  expect([reply.grpcStatus, reply.grpcMessage]).toEqual([14, expect.stringContaining("cannot be loaded")]);
  expect((await callByHttp1(url)).status).toBe(503);
  await expect.poll(() => warnings).toEqual([expect.stringContaining("no such file")]);
  expect(await (await fetch(`${url}/mcp`)).text()).toBe("hello");
  expect((await callByHttp1(url)).status).toBe(200);
  session.destroy();
  session = await openSession(url);
  expect((await rawGrpc(session, channelz)).grpcStatus).toBe(0);
  session.destroy();
});

test("closes while its services are being loaded, even if the caller has disconnected", async () => {
  let arrive = (_: MoreServices): void => {};
  const services = new Promise<MoreServices>((resolve) => {
    arrive = resolve;
  });
  const listener = await start({ services: () => services });
  const session = connect(listener.url).on("error", () => {});
  const cut = callByHttp1(listener.url).catch((error: Error) => error);
  await expect.poll(() => listener.stats()).toMatchObject({ connectionsOpen: 2, requestsOpen: 1 });
  session.destroy();
  await listener.close({ deadlineMs: 0 });
  arrive(none);
  expect(await cut).toBeInstanceOf(Error);
  await expect.poll(() => listener.stats()).toMatchObject({ connectionsOpen: 0, requestsOpen: 0 });
});

test("leaves nothing behind if an HTTP/2 peer disconnects while it waits for the services, and serves others", async () => {
  let arrive = (_: MoreServices): void => {};
  const services = new Promise<MoreServices>((resolve) => {
    arrive = resolve;
  });
  const listener = await start({ services: () => services });
  const session = connect(listener.url).on("error", () => {});
  await expect.poll(() => listener.stats().connectionsOpen).toBe(1);
  session.destroy();
  arrive(none);
  await expect.poll(() => listener.stats().connectionsOpen).toBe(0);
  expect((await callByHttp1(listener.url)).status).toBe(200);
});

test("does not make Node load its fetch, which would block the event loop, until a call over Connect", async () => {
  const code = `
    import { request } from "node:http";
    import { createRegistry, listenChannelz } from ${JSON.stringify(fileURLToPath(new URL("../../dist/index.js", import.meta.url)))};
    const isFetchLoaded = () => process.moduleLoadList.some((name) => name.includes("undici"));
    let whileLoading;
    const routes = () => {
      whileLoading = isFetchLoaded();
    };
    const { url } = await listenChannelz(createRegistry(), { services: () => ({ routes }) });
    const options = { method: "POST", headers: { "content-type": "application/json" } };
    request(url + ${JSON.stringify(channelz)}, options, ({ statusCode }) => {
      console.log(JSON.stringify({ statusCode, whileLoading, afterCall: isFetchLoaded() }));
      process.exit();
    }).end("{}");
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code]);
  // The last one shows that the check can fail.
  expect(JSON.parse(stdout)).toEqual({ statusCode: 200, whileLoading: false, afterCall: true });
});
