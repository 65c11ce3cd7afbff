import type { ChannelData } from "../gen/rpc/channelz/v1/channelz_pb.js";

// By number. Importing the enum would load protobuf.
const names = ["UNKNOWN", "IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"] as const;

/** The name of the state in the data of a channel or subchannel. */
export function stateName(data: ChannelData | undefined): string {
  const state: number = data?.state?.state ?? 0;
  return names[state] ?? `STATE ${state}`;
}
