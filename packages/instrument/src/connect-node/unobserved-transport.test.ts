import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type Channel, createRegistry, type Registry } from "@wirescope/channelz";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { callsOf, eventually, stateOf, traceOf } from "../http/both-ends.test.helper.js";
import { observeProcess } from "../process/observe-process.js";
import { Echo, serveEcho } from "./echo.test.helper.js";

// How connect-node appears if the whole process is observed, without `observeTransport`.

let registry: Registry;

beforeEach(() => {
  registry = createRegistry();
  const observation = observeProcess(registry);
  onTestFinished(() => observation.stop());
});

async function channels(): Promise<Channel[]> {
  return (await registry.getTopChannels()).channel;
}

async function states(): Promise<(string | undefined)[]> {
  return (await channels()).map(stateOf);
}

test("[CZ-D-STATE-4] shows TRANSIENT_FAILURE for a target where nothing listens, until something does", async () => {
  const sessionManager = new Http2SessionManager("http://127.0.0.1:1");
  const client = createClient(Echo, createGrpcTransport({ baseUrl: "http://127.0.0.1:1", sessionManager }));
  for (const _ of [1, 2, 3]) {
    const error = await client.unary({ value: "hello" }).then(
      () => undefined,
      (reason: unknown) => ConnectError.from(reason),
    );
    expect(error?.code).toBe(Code.Unavailable);
    await eventually(async () => expect(await states()).toEqual(["TRANSIENT_FAILURE"]));
  }
  const [channel] = await channels();
  expect(channel?.data?.target).toBe("http://127.0.0.1:1");
  const failed = "CONNECTING -> TRANSIENT_FAILURE: connect ECONNREFUSED 127.0.0.1:1";
  expect(traceOf(channel!).filter((event) => event.startsWith(failed))).toEqual([
    failed,
    `${failed} (repeated 2 times)`,
  ]);
});

test("[CZ-DATA-3] shows one channel for a transport through all its connections, with the calls of all of them", async () => {
  const { baseUrl, cut } = await serveEcho({ httpVersion: "2" });
  const sessionManager = new Http2SessionManager(baseUrl, { idleConnectionTimeoutMs: 20 });
  onTestFinished(() => sessionManager.abort());
  const client = createClient(Echo, createGrpcTransport({ baseUrl, sessionManager }));
  await client.unary({ value: "hello" });
  expect(await states()).toEqual(["READY"]);
  await eventually(async () => expect(await states()).toEqual(["IDLE"]));
  await client.unary({ value: "hello" });
  expect(await states()).toEqual(["READY"]);
  cut();
  await eventually(async () => expect(await states()).not.toEqual(["READY"]));
  await client.unary({ value: "hello" });
  await expect(client.unary({ value: "fail" })).rejects.toThrow();
  await eventually(async () => expect((await channels()).map(callsOf)).toEqual([[4, 3, 1]]));
  expect((await channels())[0]?.data?.target).toBe(baseUrl);
});
