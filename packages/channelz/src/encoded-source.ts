import type { ChannelzPackage } from "./channelz-package.js";

/**
 * One read, as data: what the unary gRPC path passes to a source that can respond in bytes.
 * `startId` and `maxResults` are those of a page; `id` is the object, or the server whose sockets are listed.
 */
export type EncodedRead =
  | { readonly method: "GetTopChannels" | "GetServers"; readonly startId: bigint; readonly maxResults: bigint }
  | {
      readonly method: "GetServerSockets";
      readonly id: bigint;
      readonly startId: bigint;
      readonly maxResults: bigint;
    }
  | { readonly method: "GetServer" | "GetChannel" | "GetSubchannel"; readonly id: bigint }
  | { readonly method: "GetSocket"; readonly id: bigint; readonly summary: boolean };

/**
 * A source that can encode its responses directly, without creating messages first. The service prefers it: looking
 * must not disturb what is looked at.
 */
export interface EncodedSource {
  /**
   * The encoded response message, after `headroom` bytes that are left for the caller to fill (the frame of gRPC).
   * The bytes are the caller's to keep. Throws what the read of the same name rejects with.
   */
  encode(read: EncodedRead, channelzPackage: ChannelzPackage, headroom: number): Uint8Array;
}

/** Whether a source can respond in bytes. */
export function isEncodedSource(source: object): source is EncodedSource {
  return "encode" in source && typeof source.encode === "function";
}
