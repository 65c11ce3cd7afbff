import type { Channel, ChannelTrace, Registry, Server, Socket, SocketData, Subchannel } from "@wirescope/channelz";
import { expect, vi } from "vitest";

/** Waits until a check passes, with a long timeout for busy machines. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 60_000, interval: 10 });
}

/** The registry's objects for one client and one server that are connected. */
export interface Ends {
  readonly channel: Channel;
  readonly subchannel: Subchannel;
  readonly client: Socket;
  readonly server: Server;
  readonly accepted: Socket;
}

export async function readChannels(registry: Registry): Promise<Channel[]> {
  return (await registry.getTopChannels()).channel;
}

export async function readSubchannels(registry: Registry, channel: Channel): Promise<Subchannel[]> {
  return Promise.all(
    channel.subchannelRef.map(async ({ subchannelId }) => (await registry.getSubchannel(subchannelId)).subchannel!),
  );
}

export async function readSockets(registry: Registry, subchannel: Subchannel): Promise<Socket[]> {
  return Promise.all(subchannel.socketRef.map(async ({ socketId }) => (await registry.getSocket(socketId)).socket!));
}

export async function readAccepted(registry: Registry, server: Server): Promise<Socket[]> {
  const { socketRef } = await registry.getServerSockets(server.ref!.serverId);
  return Promise.all(socketRef.map(async ({ socketId }) => (await registry.getSocket(socketId)).socket!));
}

/** The first of each. */
export async function readEnds(registry: Registry): Promise<Ends> {
  const channel = (await readChannels(registry))[0]!;
  const subchannel = (await readSubchannels(registry, channel))[0]!;
  const server = (await registry.getServers()).server[0]!;
  return {
    channel,
    subchannel,
    client: (await readSockets(registry, subchannel))[0]!,
    server,
    accepted: (await readAccepted(registry, server))[0]!,
  };
}

/** Both ends, once no calls or streams are in progress. */
export async function settled(registry: Registry): Promise<Ends> {
  return eventually(async () => {
    const ends = await readEnds(registry);
    for (const { data } of [ends.channel, ends.subchannel, ends.server]) {
      expect(data!.callsSucceeded + data!.callsFailed).toBe(data!.callsStarted);
    }
    for (const { data } of [ends.client, ends.accepted]) {
      expect(data!.streamsSucceeded + data!.streamsFailed).toBe(data!.streamsStarted);
    }
    return ends;
  });
}

/** Started, succeeded, failed. */
export function calls(of: Channel | Subchannel | Server): bigint[] {
  return [of.data!.callsStarted, of.data!.callsSucceeded, of.data!.callsFailed];
}

/** Started, succeeded, failed. */
export function streams({ data }: { readonly data?: SocketData | undefined }): bigint[] {
  return [data!.streamsStarted, data!.streamsSucceeded, data!.streamsFailed];
}

/** Sent, received. */
export function messages({ data }: { readonly data?: SocketData | undefined }): bigint[] {
  return [data!.messagesSent, data!.messagesReceived];
}

export function events(trace: ChannelTrace | undefined): string[] {
  return trace!.events.map(({ description }) => description);
}
