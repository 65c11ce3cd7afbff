import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type Server,
} from "node:http";
import type { Channel, Registry, Subchannel } from "@wirescope/channelz";
import { onTestFinished } from "vitest";
import { listening } from "../sockets/connections.test.helper.js";

/** A server that greets its clients, until the test ends. */
export function hello(): Promise<Server> {
  return listening(createServer((_asked, response) => response.end("hello")));
}

/** An agent that keeps its connections, until the test ends. */
export function keepAlive(options: ConstructorParameters<typeof Agent>[0] = {}): Agent {
  const agent = new Agent({ keepAlive: true, ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** Waits for the end of a request, successful or not; returns its error. */
export async function ended(asked: ClientRequest): Promise<Error | undefined> {
  let failure: Error | undefined;
  asked.on("error", (error) => {
    failure = error;
  });
  asked.on("response", (response: IncomingMessage) => response.on("error", () => {}).resume());
  if (!asked.writableEnded) asked.end();
  await new Promise((resolve) => asked.on("close", resolve));
  return failure;
}

/** Makes a request and waits for its end, as `ended` does. */
export function ask(options: RequestOptions): Promise<Error | undefined> {
  return ended(request(options));
}

export async function channelsOf(registry: Registry): Promise<Channel[]> {
  return (await registry.getTopChannels()).channel;
}

/** The subchannels of a channel, the oldest first. */
export async function subchannelsOf(registry: Registry, channel: Channel): Promise<Subchannel[]> {
  const found = await Promise.all(
    channel.subchannelRef.map(({ subchannelId }) => registry.getSubchannel(subchannelId)),
  );
  return found.map(({ subchannel }) => subchannel!).sort((a, b) => Number(a.ref!.subchannelId - b.ref!.subchannelId));
}
