import { ChannelzError } from "../errors.js";
import type { Socket } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { isGrantedWindow, type OwnConnection } from "../own-connection.js";
import type { ReadOptions, Source } from "../source.js";
import { lookUp } from "./look-up.js";
import { walkServerSockets, walkServers } from "./walk.js";

const maxCalls = 200;
const maxRefs = 2000;
const maxLookups = 8;

/**
 * The peer's end of our own connection: the newest socket of a server whose remote port is our local port, or that reports the
 * window that we granted. Undefined if the peer shows no such socket among the newest ones: it may not observe the server of its
 * Channelz service, or there is a proxy in between.
 */
export async function findOwnSocket(
  source: Source,
  own: OwnConnection,
  options: ReadOptions = {},
): Promise<Socket | undefined> {
  const { signal } = options;
  const limited = limitCalls(source);
  try {
    for await (const { ref } of walkServers(limited, { signal })) {
      for (const id of await newestSockets(limited, ref?.serverId ?? 0n, signal)) {
        const found = await lookUp(limited.getSocket(id, { signal }), signal);
        if (found === undefined || "unreadable" in found || found.socket === undefined) continue;
        if (isOwn(found.socket, own)) return found.socket;
      }
    }
  } catch (error) {
    if (!ChannelzError.is(error, "LIMIT_REACHED")) throw error;
  }
  return undefined;
}

/** A peer may have many servers, or pages that never end. */
function limitCalls(source: Source): Source {
  let calls = 0;
  const limited =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      calls += 1;
      if (calls > maxCalls) throw new ChannelzError("LIMIT_REACHED", `${maxCalls} calls did not find our connection.`);
      return await read(...args);
    };
  return {
    ...source,
    getServers: limited((...args: Parameters<Source["getServers"]>) => source.getServers(...args)),
    getServerSockets: limited((...args: Parameters<Source["getServerSockets"]>) => source.getServerSockets(...args)),
    getSocket: limited((...args: Parameters<Source["getSocket"]>) => source.getSocket(...args)),
  };
}

async function newestSockets(source: Source, serverId: bigint, signal: AbortSignal | undefined): Promise<bigint[]> {
  const ids: bigint[] = [];
  try {
    for await (const { socketId } of walkServerSockets(source, serverId, { signal, maxObjects: maxRefs })) {
      ids.push(socketId);
    }
  } catch (error) {
    if (signal?.aborted) throw error;
    // The server closed, the peer cannot read it, or it has too many sockets: ours is not found here.
    return [];
  }
  return ids.slice(-maxLookups).reverse();
}

function isOwn({ remote, data }: Socket, own: OwnConnection): boolean {
  if (remote?.address.case === "tcpipAddress") return remote.address.value.port === own.localPort;
  return isGrantedWindow(data?.localFlowControlWindow) || isGrantedWindow(data?.remoteFlowControlWindow);
}

/** Whether the peer reports the window that we granted as its local window ("right") or as its remote one. */
export type WindowOrder = "right" | "swapped" | "unknown";

/** Compares the windows of the peer's end of our connection with the window that we granted to it. */
export function windowOrderOf({ data }: Socket): WindowOrder {
  // The local window of the peer is the one that the remote endpoint, which is our client, granted.
  const isLocalOurs = isGrantedWindow(data?.localFlowControlWindow);
  const isRemoteOurs = isGrantedWindow(data?.remoteFlowControlWindow);
  if (isLocalOurs === isRemoteOurs) return "unknown";
  return isLocalOurs ? "right" : "swapped";
}
