import { constants, type OutgoingHttpHeaders } from "node:http2";
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { type HeaderBlock, hasStatus, type RawResponse, readGrpcResponse } from "./grpc-response.js";
import type { PeerSession } from "./peer-session.js";

/** Options of calls on a session. */
export interface GrpcTransportOptions {
  /** The prefix of the path of a method: empty, or a path without a trailing slash. */
  readonly pathPrefix: string;
  /** The maximum size of a response, in bytes. */
  readonly maxMessageBytes: number;
}

/**
 * A transport for unary gRPC on a session, without compression.
 *
 * Listing ten thousand sockets takes ten thousand calls, and each costs a fraction of a call with the transport of connect-node,
 * which is made for streams.
 */
export function createGrpcTransport(session: PeerSession, options: GrpcTransportOptions): Transport {
  return {
    async unary(method, signal, timeoutMs, header, input) {
      const path = `${options.pathPrefix}/${method.parent.typeName}/${method.name}`;
      const body = frame(method.input, input);
      const response = await exchange(session, callHeaders(path, header, timeoutMs), body, {
        signal,
        timeoutMs: timeoutMs ?? 0,
        maxBytes: options.maxMessageBytes,
      });
      const { message, headers, trailers } = readGrpcResponse(response);
      return {
        stream: false,
        service: method.parent,
        method,
        header: toHeaders(headers),
        trailer: toHeaders(trailers),
        message: fromBinary(method.output, message),
      };
    },
    async stream(method) {
      throw new ConnectError(
        `${method.name} is a stream, but this transport supports only unary calls.`,
        Code.Unimplemented,
      );
    },
  };
}

const maxGrpcTimeoutMs = 99_999_999;

function callHeaders(
  path: string,
  header: HeadersInit | undefined,
  timeoutMs: number | undefined,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ":method": "POST",
    ":path": path,
    te: "trailers",
    "content-type": "application/grpc+proto",
    "grpc-accept-encoding": "identity",
    "user-agent": "wirescope",
  };
  if (timeoutMs !== undefined && timeoutMs > 0) {
    headers["grpc-timeout"] = `${Math.min(Math.ceil(timeoutMs), maxGrpcTimeoutMs)}m`;
  }
  new Headers(header).forEach((value, name) => {
    headers[name] = value;
  });
  return headers;
}

/** A message with its gRPC frame header: five bytes with the compression flag (0) and the length. */
function frame<Desc extends DescMessage>(schema: Desc, input: MessageInitShape<Desc>): Buffer {
  const message = toBinary(schema, create(schema, input));
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}

interface ExchangeLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Sends one request and reads its complete response. Rejects with a ConnectError if the connection fails, and on a deadline or abort. */
function exchange(
  session: PeerSession,
  headers: OutgoingHttpHeaders,
  body: Buffer,
  { signal, timeoutMs, maxBytes }: ExchangeLimits,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    let cancel = (): void => {};
    let isSettled = false;
    const timer =
      timeoutMs > 0
        ? setTimeout(() => fail(new ConnectError("the deadline passed", Code.DeadlineExceeded)), timeoutMs)
        : undefined;
    const onAbort = (): void => fail(new ConnectError("the caller aborted", Code.Canceled));
    const settle = (): boolean => {
      if (isSettled) return false;
      isSettled = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      return true;
    };
    const fail = (error: ConnectError): void => {
      if (!settle()) return;
      cancel();
      reject(error);
    };
    const failBelow = (cause: unknown): void => {
      const message = cause instanceof Error ? cause.message : String(cause);
      fail(new ConnectError(message, Code.Unavailable, undefined, undefined, cause));
    };
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });

    session.request(headers).then((stream) => {
      let responseHeaders: HeaderBlock | undefined;
      let trailers: HeaderBlock = {};
      const chunks: Buffer[] = [];
      let received = 0;
      cancel = () => {
        stream.close(constants.NGHTTP2_CANCEL);
        // The peer sent nothing in all that time: the connection may be dead.
        if (responseHeaders === undefined && !signal?.aborted) session.distrust(stream);
      };
      stream.on("error", failBelow);
      // The caller cancelled while the connection was being established.
      if (isSettled) return stream.close(constants.NGHTTP2_CANCEL);
      stream.on("response", (block) => {
        responseHeaders = block;
      });
      stream.on("trailers", (block) => {
        trailers = block;
      });
      stream.on("data", (chunk: Buffer) => {
        received += chunk.length;
        chunks.push(chunk);
        if (received <= maxBytes + 5) return;
        fail(new ConnectError(`the response is larger than ${maxBytes} bytes`, Code.ResourceExhausted));
      });
      stream.on("close", () => {
        const response = { headers: responseHeaders ?? {}, trailers, body: Buffer.concat(chunks) };
        // A response with a status is complete, however the stream ended.
        const hasEnded = responseHeaders !== undefined && stream.rstCode === constants.NGHTTP2_NO_ERROR;
        if (!hasEnded && !hasStatus(response)) {
          const message = `the stream was reset with code ${stream.rstCode}`;
          failBelow(Object.assign(new Error(message), { code: "ERR_HTTP2_STREAM_ERROR" }));
        } else if (settle()) {
          resolve(response);
        }
      });
      stream.end(body);
    }, failBelow);
  });
}

function toHeaders(incoming: HeaderBlock): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming)) {
    if (!name.startsWith(":") && value !== undefined) headers.set(name, String(value));
  }
  return headers;
}
