import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { connect, type NetConnectOpts, type Socket } from "node:net";

/** The response on an HTTP/2 stream. */
export interface RawResponse {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly rstCode: number;
  /** From the trailers, or from the headers of a response without trailers. */
  readonly grpcStatus: number | undefined;
  readonly grpcMessage: string | undefined;
}

/** A message with its gRPC frame header. */
export function grpcFrame(message: Iterable<number> = []): Buffer {
  const bytes = Buffer.from([...message]);
  const header = Buffer.alloc(5);
  header.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

/** Opens an HTTP/2 session and waits until the peer has sent its settings. */
export async function openSession(url: string): Promise<ClientHttp2Session> {
  const session = connectHttp2(url);
  session.on("error", () => {});
  await once(session, "remoteSettings");
  return session;
}

/** Sends a request as it is and collects the response, however it ends. */
export function rawRequest(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Uint8Array | Uint8Array[],
): Promise<RawResponse> {
  const stream = session.request(headers, { endStream: body === undefined });
  const chunks: Buffer[] = [];
  let responseHeaders: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  stream.on("response", (received) => {
    responseHeaders = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => {});
  if (body !== undefined) {
    for (const chunk of Array.isArray(body) ? body : [body]) stream.write(chunk);
    stream.end();
  }
  return new Promise((resolve) => {
    stream.on("close", () => {
      const status = trailers["grpc-status"] ?? responseHeaders["grpc-status"];
      const message = trailers["grpc-message"] ?? responseHeaders["grpc-message"];
      resolve({
        headers: responseHeaders,
        trailers,
        body: Buffer.concat(chunks),
        rstCode: stream.rstCode,
        grpcStatus: status === undefined ? undefined : Number(status),
        grpcMessage: message === undefined ? undefined : decodeURIComponent(String(message)),
      });
    });
  });
}

/** Calls a gRPC method with a body that is already framed. */
export function rawGrpc(
  session: ClientHttp2Session,
  path: string,
  body: Uint8Array | Uint8Array[] = grpcFrame(),
  headers: OutgoingHttpHeaders = {},
): Promise<RawResponse> {
  return rawRequest(
    session,
    { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers", ...headers },
    body,
  );
}

/** A bare TCP or Unix connection. */
export async function openSocket(options: NetConnectOpts): Promise<Socket> {
  const socket = connect(options);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** All remaining data of a connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await eventually(() => socket.closed);
  return text;
}

/** Waits until a condition holds. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Host and port of a listener's address. */
export function portOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(address.slice(colon + 1)) };
}
