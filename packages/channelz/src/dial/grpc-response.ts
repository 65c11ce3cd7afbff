import { Code, ConnectError } from "@connectrpc/connect";
import { ForeignResponse } from "../client/foreign-response.js";

/** Headers or trailers as node:http2 returns them; `:status` is a number. */
export type HeaderBlock = Readonly<Record<string, string | readonly string[] | number | undefined>>;

/** A response stream, before it is interpreted. */
export interface RawResponse {
  readonly headers: HeaderBlock;
  readonly trailers: HeaderBlock;
  readonly body: Buffer;
}

/** The single message of a unary response, still encoded, with its headers and trailers. */
export interface GrpcResponse {
  readonly message: Uint8Array;
  readonly headers: HeaderBlock;
  readonly trailers: HeaderBlock;
}

/** Whether a response has a gRPC status, and so is complete. */
export function hasStatus({ headers, trailers }: RawResponse): boolean {
  return (trailers["grpc-status"] ?? headers["grpc-status"]) !== undefined;
}

/** Interprets a gRPC response. Throws a ConnectError for every status except OK, and if it is not gRPC. */
export function readGrpcResponse({ headers, trailers, body }: RawResponse): GrpcResponse {
  // A trailers-only response has its status in the headers.
  const end = trailers["grpc-status"] === undefined ? headers : trailers;
  const status = end["grpc-status"];
  if (status === undefined) throw foreignResponse(headers);
  if (status !== "0") throw statusError(String(status), end["grpc-message"]);
  return { message: unframe(body), headers, trailers };
}

function unframe(body: Buffer): Uint8Array {
  if (body.length < 5) throw new ConnectError("the response contains no message", Code.Internal);
  if (body[0] !== 0)
    throw new ConnectError("the response is compressed although compression was not requested", Code.Internal);
  const length = body.readUInt32BE(1);
  if (body.length !== 5 + length) throw new ConnectError("the response is not one complete message", Code.Internal);
  // As a plain Uint8Array: bytes fields of the message are views of it, and should not be Buffers.
  return new Uint8Array(body.buffer, body.byteOffset + 5, length);
}

function statusError(status: string, message: HeaderBlock[string]): ConnectError {
  const code = Number(status);
  const isKnown = Number.isInteger(code) && code >= Code.Canceled && code <= Code.Unauthenticated;
  return new ConnectError(decodeMessage(String(message ?? "")), isKnown ? code : Code.Unknown);
}

/** gRPC percent-encodes messages; an invalid one is returned unchanged. */
function decodeMessage(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

/** The error for the response of a server without gRPC; gRPC defines the code for each HTTP status. */
function foreignResponse(headers: HeaderBlock): ConnectError {
  const status = Number(headers[":status"]);
  if (status === 200) {
    const type = String(headers["content-type"] ?? "(none)");
    return type.startsWith("application/grpc")
      ? new ConnectError("the response ended without a status", Code.Internal)
      : foreignError(`unsupported content type ${type}`, Code.Unknown, status);
  }
  const codes: Readonly<Record<number, Code>> = {
    400: Code.Internal,
    401: Code.Unauthenticated,
    403: Code.PermissionDenied,
    404: Code.Unimplemented,
    429: Code.Unavailable,
    502: Code.Unavailable,
    503: Code.Unavailable,
    504: Code.Unavailable,
  };
  return foreignError(`HTTP ${status}`, codes[status] ?? Code.Unknown, status);
}

function foreignError(message: string, code: Code, status: number): ConnectError {
  return new ConnectError(message, code, undefined, undefined, new ForeignResponse(status, message));
}
