import type { ChannelzPackage } from "./channelz-package.js";

/**
 * A read as data, which the unary gRPC path passes to a source that can encode its responses.
 * `startId` and `maxResults` select a page; `id` is the object, or the server whose sockets are listed.
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
 * A source that can encode its responses directly, without creating messages first. The service prefers it, because reads must
 * not disturb the process.
 */
export interface EncodedSource {
  /**
   * The encoded response message, after `headroom` bytes that the caller fills (the gRPC frame header). The caller owns the
   * bytes. Throws the errors that the read of the same name rejects with.
   */
  encode(read: EncodedRead, channelzPackage: ChannelzPackage, headroom: number): Uint8Array;
}

/** Whether a source can encode its responses. */
export function isEncodedSource(source: object): source is EncodedSource {
  return "encode" in source && typeof source.encode === "function";
}
