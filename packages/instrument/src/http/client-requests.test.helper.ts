import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request,
  type Server,
} from "node:http";
import type { ListenOptions } from "node:net";
import type { Channel, Registry, Subchannel } from "@wirescope/channelz";
import { onTestFinished } from "vitest";
import { listening } from "../sockets/connections.test.helper.js";

/** A server that responds with "hello", until the test ends. */
export function hello(options: ListenOptions = {}): Promise<Server> {
  return listening(
    createServer((_request, response) => response.end("hello")),
    options,
  );
}

/** An agent with keep-alive, until the test ends. */
export function keepAlive(options: ConstructorParameters<typeof Agent>[0] = {}): Agent {
  const agent = new Agent({ keepAlive: true, ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** Waits for the end of a request, successful or not; returns its error. */
export async function ended(clientRequest: ClientRequest): Promise<Error | undefined> {
  let failure: Error | undefined;
  clientRequest.on("error", (error) => {
    failure = error;
  });
  clientRequest.on("response", (response: IncomingMessage) => response.on("error", () => {}).resume());
  if (!clientRequest.writableEnded) clientRequest.end();
  await new Promise((resolve) => clientRequest.on("close", resolve));
  return failure;
}

/** Sends a request and waits for its end, like `ended`. */
export function sendRequest(options: RequestOptions): Promise<Error | undefined> {
  return ended(request(options));
}

export async function channelsOf(registry: Registry): Promise<Channel[]> {
  return (await registry.getTopChannels()).channel;
}

/** The subchannels of a channel, oldest first. */
export async function subchannelsOf(registry: Registry, channel: Channel): Promise<Subchannel[]> {
  const found = await Promise.all(
    channel.subchannelRef.map(({ subchannelId }) => registry.getSubchannel(subchannelId)),
  );
  return found.map(({ subchannel }) => subchannel!).sort((a, b) => Number(a.ref!.subchannelId - b.ref!.subchannelId));
}
