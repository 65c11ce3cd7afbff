import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type ChannelzPackage, channelzPackages } from "../channelz-package.js";
import { type EncodedRead, type EncodedSource, isEncodedSource } from "../encoded-source.js";
import { channelzService } from "../schema.js";
import type { Source } from "../source.js";
import { nameAnyPayloads } from "./any-payloads.js";
import { checkTimeout, parseGrpcTimeoutMs, trailersOnly } from "./grpc-status.js";
import { dispatchRead, readRequests } from "./reads.js";
import { drain, stopReceiving } from "./request-body.js";
import { type RpcStatus, rpcStatusOf } from "./rpc-status.js";
import { endInPieces } from "./write-in-pieces.js";

export interface GrpcUnaryOptions {
  /** The maximum size of a request message in bytes; the response to a larger one is RESOURCE_EXHAUSTED. */
  readonly maxMessageBytes: number;
  /** Call for each request that was too large. */
  readonly onTooLarge?: () => void;
}

/**
 * Serves an HTTP/2 stream if it is a plain gRPC call of Channelz; otherwise returns false and leaves it alone. `onWritten` is called
 * when the response was written.
 */
export type GrpcUnary = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, onWritten?: () => void) => boolean;

const frameHeaderBytes = 5;
const responseHeaders = { ":status": 200, "content-type": "application/grpc" };
const waitForTrailers = { waitForTrailers: true };
const endStream = { endStream: true };
const okTrailers = { "grpc-status": "0" };

/**
 * The fast path of the service, directly on `node:http2`: unary gRPC with binary messages and no compression, which is what gRPC's
 * own clients send. Everything else is left to Connect's router, which costs several times as much per call.
 *
 * An encoded source is read synchronously, so `grpc-timeout` applies only to other sources. The listener enforces the timeouts for
 * requests that never end.
 */
export function createGrpcUnary(source: Source, options: GrpcUnaryOptions): GrpcUnary {
  const routes = new Map<string, Route>();
  for (const channelzPackage of channelzPackages) {
    for (const { name, parent, output } of channelzService(channelzPackage).methods) {
      routes.set(`/${parent.typeName}/${name}`, {
        channelzPackage,
        decode: readRequests[name as EncodedRead["method"]],
        encode: (message) => toBinary(output, message),
      });
    }
  }
  const prefixes = channelzPackages.map((channelzPackage) => `/${channelzPackage}.Channelz/`);

  return (stream, headers, onWritten) => {
    if (headers[":method"] !== "POST" || !isPlainGrpc(headers)) return false;
    const path = headers[":path"] ?? "";
    const route = routes.get(path);
    if (route === undefined) {
      if (!prefixes.some((prefix) => path.startsWith(prefix))) return false;
      drain(stream);
      end(stream, {
        code: Code.Unimplemented,
        message: `Channelz has no method ${path.slice(path.lastIndexOf("/") + 1)}.`,
      });
      return true;
    }
    const timeoutError = checkTimeout(headers);
    if (timeoutError !== undefined) {
      drain(stream);
      end(stream, timeoutError);
      return true;
    }
    collect(stream, options, (body) => respond({ stream, headers, onWritten }, source, route, body));
    return true;
  };
}

interface Route {
  readonly channelzPackage: ChannelzPackage;
  readonly decode: (bytes: Uint8Array) => EncodedRead;
  readonly encode: (message: Awaited<ReturnType<typeof dispatchRead>>) => Uint8Array;
}

function isPlainGrpc(headers: IncomingHttpHeaders): boolean {
  const contentType = headers["content-type"];
  if (contentType !== "application/grpc" && contentType !== "application/grpc+proto") return false;
  const encoding = headers["grpc-encoding"];
  return encoding === undefined || encoding === "identity";
}

/** Collects the body and calls `complete` once, unless it is too large or the client disconnects. */
function collect(stream: ServerHttp2Stream, options: GrpcUnaryOptions, complete: (body: Buffer) => void): void {
  // Nearly every request is one chunk; several chunks are joined once, at the end.
  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > frameHeaderBytes + options.maxMessageBytes || announcedLength(chunk, first) > options.maxMessageBytes) {
      if (stream.headersSent) return;
      options.onTooLarge?.();
      end(stream, {
        code: Code.ResourceExhausted,
        message: `The request is larger than ${options.maxMessageBytes} bytes. No Channelz request is that large.`,
      });
    } else if (first === undefined) {
      first = chunk;
    } else {
      rest ??= [first];
      rest.push(chunk);
    }
  });
  stream.on("end", () => {
    if (!stream.headersSent && !stream.destroyed) complete(rest ? Buffer.concat(rest) : (first ?? Buffer.alloc(0)));
  });
}

/** The length that a frame's header announces, if the first chunk contains the complete header. */
function announcedLength(chunk: Buffer, first: Buffer | undefined): number {
  return first === undefined && chunk.length >= frameHeaderBytes ? chunk.readUInt32BE(1) : 0;
}

interface Call {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly onWritten: (() => void) | undefined;
}

function respond(call: Call, source: Source, route: Route, body: Buffer): void {
  const { stream } = call;
  const defect = frameDefect(body);
  const read = defect === undefined ? decode(route, body) : undefined;
  if (read === undefined) {
    end(
      stream,
      defect ?? { code: Code.InvalidArgument, message: "The request cannot be decoded as a Channelz message." },
    );
  } else if (isEncodedSource(source)) {
    respondNow(call, source, route, read);
  } else {
    respondLater(call, source, route, read);
  }
}

function decode(route: Route, body: Buffer): EncodedRead | undefined {
  try {
    return route.decode(body.subarray(frameHeaderBytes));
  } catch {
    return undefined;
  }
}

/** The error for a body that is not exactly one uncompressed gRPC message. */
function frameDefect(body: Buffer): RpcStatus | undefined {
  if (body.length === 0)
    return { code: Code.Unimplemented, message: "The call has no request message; it requires exactly one." };
  if (body[0] === 1) {
    return { code: Code.Internal, message: "The request is compressed, but grpc-encoding is not set." };
  }
  if (body[0] !== 0 || body.length < frameHeaderBytes) {
    return { code: Code.InvalidArgument, message: "The request does not begin with a gRPC frame header." };
  }
  const declared = frameHeaderBytes + body.readUInt32BE(1);
  if (body.length < declared)
    return { code: Code.InvalidArgument, message: "The request is shorter than its frame header says." };
  if (body.length > declared)
    return { code: Code.Unimplemented, message: "The call requires exactly one request message." };
  return undefined;
}

function respondNow({ stream, onWritten }: Call, source: EncodedSource, route: Route, read: EncodedRead): void {
  let frame: Uint8Array;
  try {
    frame = source.encode(read, route.channelzPackage, frameHeaderBytes);
  } catch (error) {
    end(stream, rpcStatusOf(error));
    return;
  }
  send(stream, frame);
  onWritten?.();
}

function respondLater({ stream, headers, onWritten }: Call, source: Source, route: Route, read: EncodedRead): void {
  const controller = new AbortController();
  const timeoutMs = parseGrpcTimeoutMs(headers["grpc-timeout"]?.toString());
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, 0x7fffffff));
  function expire(): void {
    end(stream, { code: Code.DeadlineExceeded, message: "The source did not respond within the caller's deadline." });
    controller.abort();
  }
  stream.once("close", () => {
    clearTimeout(timer);
    controller.abort();
  });
  dispatchRead(source, read, { signal: controller.signal })
    .then((message) => {
      const bytes = route.encode(nameAnyPayloads(message, route.channelzPackage));
      const frame = new Uint8Array(frameHeaderBytes + bytes.length);
      frame.set(bytes, frameHeaderBytes);
      send(stream, frame);
      onWritten?.();
    })
    .catch((error: unknown) => end(stream, rpcStatusOf(error)));
}

function send(stream: ServerHttp2Stream, frame: Uint8Array): void {
  if (stream.headersSent || stream.destroyed || stream.closed) return;
  const length = frame.length - frameHeaderBytes;
  frame[0] = 0;
  frame[1] = length >>> 24;
  frame[2] = length >>> 16;
  frame[3] = length >>> 8;
  frame[4] = length;
  stream.respond(responseHeaders, waitForTrailers);
  stream.on("wantTrailers", sendOk);
  endInPieces(stream, frame);
}

function sendOk(this: ServerHttp2Stream): void {
  if (!this.destroyed && !this.closed) this.sendTrailers(okTrailers);
}

function end(stream: ServerHttp2Stream, status: RpcStatus): void {
  if (stream.headersSent || stream.destroyed || stream.closed) return;
  stream.respond(trailersOnly(status), endStream);
  // A client that is still sending is asked to stop; otherwise the stream has ended normally.
  if (!stream.readableEnded) stopReceiving(stream);
}
