import { type CallOptions, type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { type ChannelzPackage, channelzPackages } from "../channelz-package.js";
import { ChannelzError } from "../errors.js";
import type { Channelz } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { toInt64, toPage } from "../int64.js";
import { channelzService } from "../schema.js";
import type { PageRequest, ReadOptions, Source } from "../source.js";
import { createPackageFinder } from "./find-package.js";
import { type PeerCall, peerError } from "./peer-error.js";

/** Options for reading Channelz over an existing transport. */
export interface ChannelzClientOptions {
  /** The package that the peer serves. Default: detected at the first call. */
  readonly package?: ChannelzPackage | undefined;
  /** The timeout of a call, in milliseconds. Default 10,000; 0 for none. */
  readonly timeoutMs?: number | undefined;
  /** Headers of every call. */
  readonly headers?: HeadersInit | undefined;
  /** How error messages name the peer. Default: "the peer". */
  readonly peer?: string | undefined;
  /** Returns advice for a failed connection, which ends the error message; it gets the root cause. */
  readonly adviseOnConnection?: ((cause: unknown) => string | undefined) | undefined;
}

/** A Source that reads another process. */
export interface ChannelzClient extends Source {
  /** The package under which the peer serves Channelz; calls the peer if it is not known yet. */
  findPackage(options?: ReadOptions): Promise<ChannelzPackage>;
}

/** The default timeout of a call, in milliseconds. */
export const defaultTimeoutMs = 10_000;

/**
 * Reads the Channelz of another process over any Connect transport: gRPC, gRPC-Web or Connect.
 *
 * Every read rejects with a {@link ChannelzError}. Unknown fields are kept in the messages.
 */
export function createChannelzClient(transport: Transport, options: ChannelzClientOptions = {}): ChannelzClient {
  const { peer } = options;
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  if (options.package !== undefined && !channelzPackages.includes(options.package)) {
    throw new TypeError(`"${options.package}" is not a Channelz package. Use ${channelzPackages.join(" or ")}.`);
  }
  const clients: Record<ChannelzPackage, Client<typeof Channelz>> = {
    "rpc.channelz.v1": createClient(channelzService("rpc.channelz.v1"), transport),
    "grpc.channelz.v1": createClient(channelzService("grpc.channelz.v1"), transport),
  };
  const finder = createPackageFinder(
    (candidate) => clients[candidate].getServers({ maxResults: 1n }, callOptions()),
    peer,
  );

  function callOptions(signal?: AbortSignal): CallOptions {
    return {
      timeoutMs,
      ...(options.headers === undefined ? {} : { headers: options.headers }),
      ...(signal === undefined ? {} : { signal }),
    };
  }

  async function read<T>(
    method: string,
    subject: string | undefined,
    readOptions: ReadOptions | undefined,
    call: (client: Client<typeof Channelz>, callOptions: CallOptions) => Promise<T>,
  ): Promise<T> {
    const signal = readOptions?.signal;
    let channelzPackage = options.package;
    try {
      signal?.throwIfAborted();
      channelzPackage ??= await findUnlessAborted(signal);
      return await call(clients[channelzPackage], callOptions(signal));
    } catch (reason) {
      // The peer may have been replaced since the detection.
      if (options.package === undefined && reason instanceof ConnectError && reason.code === Code.Unimplemented)
        finder.forget();
      throw peerError(reason, { ...describeCall(method, channelzPackage), subject, abandoned: signal?.aborted });
    }
  }

  /** All callers wait for the same detection, so the signal of one must not end it for the others. */
  async function findUnlessAborted(signal: AbortSignal | undefined): Promise<ChannelzPackage> {
    if (signal === undefined) return await finder.find();
    signal.throwIfAborted();
    let onAbort = (): void => {};
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort);
    });
    try {
      return await Promise.race([finder.find(), aborted]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  function describeCall(method: string, channelzPackage: ChannelzPackage | undefined): PeerCall {
    const service = channelzPackage === undefined ? "Channelz" : `${channelzPackage}.Channelz`;
    return { method: `${service}/${method}`, peer, timeoutMs, adviseOnConnection: options.adviseOnConnection };
  }

  return {
    async findPackage(readOptions) {
      if (options.package !== undefined) return options.package;
      try {
        return await findUnlessAborted(readOptions?.signal);
      } catch (reason) {
        throw peerError(reason, { ...describeCall("GetServers", undefined), abandoned: readOptions?.signal?.aborted });
      }
    },
    async getTopChannels(request, readOptions) {
      const { startId, maxResults } = page(request);
      return await read("GetTopChannels", undefined, readOptions, (client, call) =>
        client.getTopChannels({ startChannelId: startId, maxResults }, call),
      );
    },
    async getServers(request, readOptions) {
      const { startId, maxResults } = page(request);
      return await read("GetServers", undefined, readOptions, (client, call) =>
        client.getServers({ startServerId: startId, maxResults }, call),
      );
    },
    async getServer(id, readOptions) {
      const serverId = toInt64(id, "server id");
      return await read("GetServer", `server ${serverId}`, readOptions, (client, call) =>
        client.getServer({ serverId }, call),
      );
    },
    async getServerSockets(id, request, readOptions) {
      const serverId = toInt64(id, "server id");
      const { startId, maxResults } = page(request);
      return await read("GetServerSockets", `server ${serverId}`, readOptions, (client, call) =>
        client.getServerSockets({ serverId, startSocketId: startId, maxResults }, call),
      );
    },
    async getChannel(id, readOptions) {
      const channelId = toInt64(id, "channel id");
      return await read("GetChannel", `channel ${channelId}`, readOptions, (client, call) =>
        client.getChannel({ channelId }, call),
      );
    },
    async getSubchannel(id, readOptions) {
      const subchannelId = toInt64(id, "subchannel id");
      return await read("GetSubchannel", `subchannel ${subchannelId}`, readOptions, (client, call) =>
        client.getSubchannel({ subchannelId }, call),
      );
    },
    async getSocket(id, readOptions) {
      const socketId = toInt64(id, "socket id");
      const summary = readOptions?.summary ?? false;
      return await read("GetSocket", `socket ${socketId}`, readOptions, (client, call) =>
        client.getSocket({ socketId, summary }, call),
      );
    },
  };
}

/** Peers treat unusual page arguments differently, up to endless walks, so they are normalised here. */
function page(request?: PageRequest): { startId: bigint; maxResults: bigint } {
  const { startId, maxResults } = toPage(request);
  return { startId: startId > 0n ? startId : 0n, maxResults };
}
