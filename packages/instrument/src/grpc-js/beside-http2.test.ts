import * as grpc from "@grpc/grpc-js";
import { createRegistry } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { observeHttp2Module } from "../http2/observe-module.js";
import { connect, serve, unary } from "./echo.test.helper.js";
import { observeGrpcJs } from "./observe-grpc-js.js";
import { calls, settled, streams } from "./reading.test.helper.js";

test.each(["before", "after"])(
  "shows every object once if all of HTTP/2 is observed too, from %s on",
  async (order) => {
    const registry = createRegistry();
    const stopFirst = order === "before" ? observeHttp2Module(registry) : undefined;
    const observation = observeGrpcJs(registry, grpc);
    const stopLast = order === "after" ? observeHttp2Module(registry) : undefined;
    onTestFinished(() => {
      observation.stop();
      stopFirst?.();
      stopLast?.();
    });
    const { target } = await serve();
    const client = connect(target);
    await unary(client);
    await unary(client, "fail");
    const ends = await settled(registry);
    expect(registry.size).toMatchObject({ channels: 1, subchannels: 1, servers: 1, sockets: 3 });
    for (const end of [ends.channel, ends.subchannel, ends.server]) expect(calls(end)).toEqual([2n, 1n, 1n]);
    for (const end of [ends.client, ends.accepted]) expect(streams(end)).toEqual([2n, 2n, 0n]);
  },
);
