import type { Socket } from "@wirescope/channelz/client";
import { channelz } from "./timeline.js";

/** Reads a socket with its options and security, which snapshots do not have. Rejects with a ChannelzError. */
export async function readSocket(id: bigint, signal: AbortSignal): Promise<Socket | undefined> {
  const { socket } = await channelz.getSocket(id, { signal });
  return socket;
}
