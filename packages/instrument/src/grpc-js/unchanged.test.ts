import { inspect } from "node:util";
import * as grpc from "@grpc/grpc-js";
import { createRegistry } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { frameTypes, rawServer } from "../http2/raw-peer.test.helper.js";
import { chat, collect, connect, expand, missing, passThrough, serve, unary } from "./echo.test.helper.js";
import { observeGrpcJs } from "./observe-grpc-js.js";
import { eventually } from "./reading.test.helper.js";

/** Runs the same code before, during and after the observation of grpc-js. */
async function withAndWithout<T>(run: () => Promise<T>): Promise<[T, T, T]> {
  const before = await run();
  const observation = observeGrpcJs(createRegistry(), grpc);
  onTestFinished(() => observation.stop());
  const during = await run();
  observation.stop();
  return [before, during, await run()];
}

test("ends every call for the application as without observation", async () => {
  const [before, during, after] = await withAndWithout(async () => {
    const { target, server } = await serve();
    const proxy = await passThrough(Number(target.split(":")[1]));
    const client = connect(`127.0.0.1:${proxy.port}`);
    const seen: unknown[] = [
      await unary(client),
      await unary(client, "fail"),
      await expand(client, "5"),
      await expand(client, "3 and fail"),
      await collect(client, "a", "b"),
      await collect(client, "a", "fail"),
      await chat(client, "a", "b"),
      await chat(client, "fail"),
      await missing(client),
    ];
    const { code } = await unary(client, "hang", { deadline: Date.now() + 20 });
    const hanging = unary(client, "hang");
    await eventually(() => expect(calledTimes(client)).toBeGreaterThan(0));
    proxy.cut();
    seen.push(code, (await hanging).code);
    server.forceShutdown();
    seen.push((await unary(client)).code);
    client.close();
    seen.push(await new Promise((resolve) => client.unary({ text: "" }, resolve)).catch(String));
    return seen;
  });
  expect(during).toEqual(before);
  expect(after).toEqual(before);
});

test("delivers events in the same order as without observation", async () => {
  const [before, during, after] = await withAndWithout(async () => {
    const { target } = await serve();
    const client = connect(target);
    const log: string[] = [];
    for (const text of ["2", "2 and fail", "1 and hang"]) {
      const call = client.expand({ text });
      for (const event of ["metadata", "data", "end", "close", "error"]) {
        call.on(event, () => {
          log.push(`${text}: ${event}`);
          if (event === "data" && text.endsWith("hang")) call.cancel();
        });
      }
      const { code, details } = await new Promise<grpc.StatusObject>((resolve) => call.on("status", resolve));
      log.push(`${text}: status ${code} ${details}`);
    }
    return log;
  });
  expect(during).toEqual(before);
  expect(after).toEqual(before);
});

test("sends the same frames as without observation", async () => {
  const [before, during, after] = await withAndWithout(async () => {
    const raw = await rawServer();
    const client = connect(`127.0.0.1:${raw.port}`);
    const call = client.chat();
    call.on("error", () => {});
    for (const text of ["one", "two"]) call.write({ text });
    call.end();
    const peer = await raw.peer;
    await peer.frame(({ type, flags }) => type === frameTypes.data && (flags & 1) === 1);
    const frames = peer.frames
      .filter(({ streamId }) => streamId !== 0)
      .map(({ type, flags, payload }) => ({
        type,
        flags,
        // The port of the peer is in the headers.
        payload: type === frameTypes.headers ? payload.length : payload.toString("hex"),
      }));
    call.cancel();
    raw.close();
    return frames;
  });
  expect(during).toEqual(before);
  expect(after).toEqual(before);
});

test("leaves the results of grpc-js's own registry unchanged", async () => {
  const [before, during] = await withAndWithout(async () => {
    const { target } = await serve();
    const client = connect(target);
    await unary(client);
    await unary(client, "fail");
    const channelId = grpc.getClientChannel(client).getChannelzRef().id;
    return await new Promise<string>((resolve) => {
      grpc.getChannelzHandlers().GetChannel!(
        { request: { channel_id: String(channelId) } } as never,
        (_error: unknown, response: unknown) => resolve(withoutNumbers(response)),
      );
    });
  });
  expect(during).toEqual(before);
});

test("shows nothing of the observer when the application prints a client", async () => {
  const print = async (): Promise<string> => {
    const { target } = await serve();
    const client = connect(target);
    await unary(client);
    return inspect(grpc.getClientChannel(client), { depth: 4 });
  };
  const [, during] = await withAndWithout(print);
  expect(during).not.toMatch(/wirescope\.grpc|Observed/);
});

/** The number of calls in progress on the client's channel. */
function calledTimes(client: grpc.Client): number {
  return (grpc.getClientChannel(client) as unknown as { internalChannel: { callCount: number } }).internalChannel
    .callCount;
}

/** Ids, ports and times differ from one run to the next. */
function withoutNumbers(response: unknown): string {
  return JSON.stringify(response).replace(/\d+/g, "#");
}
