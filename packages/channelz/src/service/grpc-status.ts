import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { grpcCode } from "./grpc-code.js";
import type { RpcStatus } from "./rpc-status.js";

/** The headers of a gRPC response that has only a status ("trailers-only"); they end the stream. */
export function trailersOnly(status: RpcStatus, contentType = "application/grpc"): OutgoingHttpHeaders {
  return {
    ":status": 200,
    "content-type": contentType,
    "grpc-status": String(status.code),
    "grpc-message": percentEncode(status.message),
  };
}

/** Percent-encodes text for `grpc-message`: printable ASCII except `%` is kept, all other UTF-8 bytes become `%XX`. */
export function percentEncode(text: string): string {
  if (/^[\x20-\x24\x26-\x7e]*$/.test(text)) return text;
  let encoded = "";
  for (const byte of Buffer.from(text, "utf8")) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** The error for a malformed or zero `grpc-timeout`; undefined if it is valid or missing. */
export function checkTimeout(headers: IncomingHttpHeaders): RpcStatus | undefined {
  const value = headers["grpc-timeout"]?.toString();
  if (value === undefined) return undefined;
  const timeoutMs = parseGrpcTimeoutMs(value);
  if (timeoutMs === undefined) {
    const message = "grpc-timeout is malformed. Send 1 to 8 digits and a unit: H, M, S, m, u or n.";
    return { code: grpcCode.invalidArgument, message };
  }
  if (timeoutMs > 0) return undefined;
  return { code: grpcCode.deadlineExceeded, message: "The deadline has passed: grpc-timeout is 0." };
}

/** The value of `grpc-timeout` in milliseconds, or undefined if it is missing or malformed. */
export function parseGrpcTimeoutMs(value: string | undefined): number | undefined {
  const match = value === undefined ? null : /^(\d{1,8})([HMSmun])$/.exec(value);
  const unit = match?.[2] === undefined ? undefined : unitMs[match[2]];
  return unit === undefined ? undefined : Number(match?.[1]) * unit;
}
