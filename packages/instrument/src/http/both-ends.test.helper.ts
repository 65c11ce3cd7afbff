import type { Channel, Registry, Server, Socket, Subchannel } from "@wirescope/channelz";
import { expect, vi } from "vitest";

/** The counters of one object: started, succeeded, failed. */
export type Outcomes = readonly [started: number, succeeded: number, failed: number];

/** The counters of a connection, from both of its ends. */
export interface BothEnds {
  readonly channelCalls: Outcomes;
  readonly subchannelCalls: Outcomes;
  readonly serverCalls: Outcomes;
  readonly clientStreams: Outcomes;
  readonly serverStreams: Outcomes;
  /** Messages from the client to the server: sent, and received. */
  readonly requestMessages: readonly [sent: number, received: number];
  /** Messages from the server to the client: sent, and received. */
  readonly responseMessages: readonly [sent: number, received: number];
}

/** The objects of one connection. */
export interface Connected {
  readonly channel: Channel;
  readonly subchannel: Subchannel;
  readonly client: Socket;
  readonly server: Server;
  readonly accepted: Socket;
}

interface Ids {
  readonly channel: bigint;
  readonly subchannel: bigint;
  readonly client: bigint;
  readonly server: bigint;
  readonly accepted: bigint;
}

/** Waits for a condition, with a long timeout for busy machines. */
export function eventually<T>(condition: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(condition, { timeout: 60_000 });
}

/** Remembers the objects of one connection, so that they can still be read after they closed. */
export class Probe {
  readonly #registry: Registry;
  readonly #ids: Ids;

  private constructor(registry: Registry, ids: Ids) {
    this.#registry = registry;
    this.#ids = ids;
  }

  /** Waits for a connection between the only channel and the only server of a registry. */
  static async of(registry: Registry): Promise<Probe> {
    return eventually(async () => {
      const { channel } = await registry.getTopChannels();
      const { server } = await registry.getServers();
      expect([channel.length, server.length]).toEqual([1, 1]);
      const { subchannel } = await registry.getSubchannel(channel[0]!.subchannelRef.at(-1)!.subchannelId);
      const { socketRef } = await registry.getServerSockets(server[0]!.ref!.serverId);
      return new Probe(registry, {
        channel: channel[0]!.ref!.channelId,
        subchannel: subchannel!.ref!.subchannelId,
        client: subchannel!.socketRef.at(-1)!.socketId,
        server: server[0]!.ref!.serverId,
        accepted: socketRef.at(-1)!.socketId,
      });
    });
  }

  async objects(): Promise<Connected> {
    const { channel } = await this.#registry.getChannel(this.#ids.channel);
    const { subchannel } = await this.#registry.getSubchannel(this.#ids.subchannel);
    const { server } = await this.#registry.getServer(this.#ids.server);
    const { socket: client } = await this.#registry.getSocket(this.#ids.client);
    const { socket: accepted } = await this.#registry.getSocket(this.#ids.accepted);
    return { channel: channel!, subchannel: subchannel!, server: server!, client: client!, accepted: accepted! };
  }

  async read(): Promise<BothEnds> {
    const { channel, subchannel, server, client, accepted } = await this.objects();
    return {
      channelCalls: callsOf(channel),
      subchannelCalls: callsOf(subchannel),
      serverCalls: callsOf(server),
      clientStreams: streamsOf(client),
      serverStreams: streamsOf(accepted),
      requestMessages: [Number(client.data?.messagesSent), Number(accepted.data?.messagesReceived)],
      responseMessages: [Number(accepted.data?.messagesSent), Number(client.data?.messagesReceived)],
    };
  }

  /** Waits until both ends have these counters. */
  async expect(expected: Partial<BothEnds>): Promise<void> {
    await eventually(async () => expect(await this.read()).toMatchObject(expected));
  }
}

interface Calls {
  readonly callsStarted: bigint;
  readonly callsSucceeded: bigint;
  readonly callsFailed: bigint;
}

/** The calls of a channel, a subchannel or a server. */
export function callsOf({ data }: { readonly data?: Calls | undefined }): Outcomes {
  return [Number(data?.callsStarted), Number(data?.callsSucceeded), Number(data?.callsFailed)];
}

/** The streams of a socket. */
export function streamsOf({ data }: Socket): Outcomes {
  return [Number(data?.streamsStarted), Number(data?.streamsSucceeded), Number(data?.streamsFailed)];
}

/** The descriptions in a trace, oldest first. */
export function traceOf({ data }: Channel | Subchannel | Server): string[] {
  return data?.trace?.events.map(({ description }) => description) ?? [];
}

const stateNames = ["UNKNOWN", "IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"];

/** The state of a channel or a subchannel, by its name. */
export function stateOf({ data }: Channel | Subchannel): string | undefined {
  return stateNames[data!.state!.state];
}

/** The state changes in a trace, oldest first. */
export function statesOf(one: Channel | Subchannel): string[] {
  return traceOf(one).filter((event) => event.includes(" -> "));
}

/** The counters of both ends if all calls succeeded. */
export function allSucceeded(count: number, requestMessages: number, responseMessages: number): BothEnds {
  return bothEnds([count, count, 0], [count, count, 0], requestMessages, responseMessages);
}

/** The counters of both ends after one failed call, with the given outcomes of the streams. */
export function oneFailed(streams: Outcomes, requestMessages: number, responseMessages: number): BothEnds {
  return bothEnds([1, 0, 1], streams, requestMessages, responseMessages);
}

function bothEnds(calls: Outcomes, streams: Outcomes, requestMessages: number, responseMessages: number): BothEnds {
  return {
    channelCalls: calls,
    subchannelCalls: calls,
    serverCalls: calls,
    clientStreams: streams,
    serverStreams: streams,
    requestMessages: [requestMessages, requestMessages],
    responseMessages: [responseMessages, responseMessages],
  };
}
