import {
  type ChannelzConnection,
  type ChannelzListener,
  connectChannelz,
  createRegistry,
  listenChannelz,
} from "@wirescope/channelz";
import { observeProcess } from "@wirescope/instrument";
import { type Connection, createSecretRegistry, createToolServers } from "@wirescope/tool-server";
import { parseConfiguration } from "@wirescope/tool-server/config";
import { expect, onTestFinished } from "vitest";
import { type GrpcJsResponse, readWithGrpcJs } from "./grpc-js-channelz.test.helper.js";

/** This process, observed and served until the test ends. */
export interface ObservedProcess {
  readonly listener: ChannelzListener;
  /** Our own client. */
  readonly ours: ChannelzConnection;
  /** Reads with the client of grpc-js. */
  read(method: string, request?: object): Promise<GrpcJsResponse>;
}

export async function observeThisProcess(): Promise<ObservedProcess> {
  const registry = createRegistry();
  // All instruments that could show tool servers, to detect what is shown twice; but not the readers.
  const observation = observeProcess(registry, { http2: false, grpcJs: false, listeners: false });
  const listener = await listenChannelz(registry);
  const ours = connectChannelz(listener.address);
  onTestFinished(async () => {
    await ours.close();
    await listener.close();
    observation.stop();
  });
  return {
    listener,
    ours,
    read: (method, request) => readWithGrpcJs(listener.address, method, request),
  };
}

export interface OpenOptions {
  readonly variables?: Readonly<Record<string, string>>;
  readonly ca?: string;
}

/** A connection by an entry of a configuration; it closes with the test. */
export async function openEntry(entry: object, { variables = {}, ca }: OpenOptions = {}): Promise<Connection> {
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ everything: entry })),
    variables: { PATH: process.env.PATH, HOME: process.env.HOME, ...variables },
    pluginRoot: process.cwd(),
    secrets: createSecretRegistry(),
    assertTrusted: async () => {},
    settings: { info: { name: "test", version: "1.0.0" } },
    ca,
  });
  onTestFinished(() => servers.close());
  return servers.open("everything");
}

/** Makes calls to the reference server that succeed, and one that fails. */
export async function useEverything(connection: Connection): Promise<void> {
  const { tools } = await connection.listTools();
  expect(tools.map(({ name }) => name)).toContain("echo");
  const { content } = await connection.callTool({ name: "echo", arguments: { message: "hello" } });
  expect(content).toMatchObject([{ text: "Echo: hello" }]);
  await expect(connection.getPrompt({ name: "no such prompt" })).rejects.toMatchObject({ code: "CALL_REFUSED" });
}

/** The calls that `useEverything` makes, as the connection counts them. */
export const callsOfUse = { calls_started: "3", calls_succeeded: "2", calls_failed: "1" } as const;
/** The same as the transport counts them, with the handshake. */
export const transportCallsOfUse = { calls_started: "4", calls_succeeded: "3", calls_failed: "1" } as const;

/** The Channelz objects of one tool server. */
export interface Seen {
  readonly channel: GrpcJsResponse;
  readonly subchannel: GrpcJsResponse;
  readonly sockets: readonly GrpcJsResponse[];
}

/** Reads the objects of the only tool server of this process, which has one transport. */
export async function readOne({ read }: ObservedProcess): Promise<Seen> {
  const { channel: channels = [] } = await read("GetTopChannels");
  expect(channels).toHaveLength(1);
  const { channel } = await read("GetChannel", { channel_id: channels[0].ref.channel_id });
  expect(channel.subchannel_ref).toHaveLength(1);
  const { subchannel } = await read("GetSubchannel", { subchannel_id: channel.subchannel_ref[0].subchannel_id });
  const sockets: GrpcJsResponse[] = [];
  for (const { socket_id } of subchannel.socket_ref) sockets.push((await read("GetSocket", { socket_id })).socket);
  return { channel, subchannel, sockets };
}

/** The trace of a channel or subchannel, one line per event. */
export function traceOf({ data }: GrpcJsResponse): string {
  return data.trace.events.map(({ description }: { description: string }) => description).join("\n");
}
