import {
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { drain, stopReceiving } from "../service/request-body.js";
import { pieceBytes, piecesFor, sendOneByOne } from "../service/write-in-pieces.js";
import type { Connection, ServedRequest } from "./connection.js";
import { countMalformed } from "./connections.js";
import type { PipelineOptions, RequestPipeline } from "./request-pipeline.js";

export interface Http2FrontOptions extends Pick<PipelineOptions, "connections" | "limits" | "services"> {
  readonly pipeline: RequestPipeline;
  readonly onSession: (session: ServerHttp2Session) => void;
}

/** Serves HTTP/2 on a connection. */
export type Http2Front = (connection: Connection) => Promise<void>;

export function createHttp2Front({
  pipeline,
  services,
  limits,
  connections,
  onSession,
}: Http2FrontOptions): Http2Front {
  const { maxConcurrentStreams, maxHeaderBytes } = limits;

  function onStream(
    connection: Connection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ): void {
    stream.on("error", ignore);
    connection.lastStreamId = Math.max(connection.lastStreamId, stream.id ?? 0);
    // The client may have reset the stream before this event, and then its end is never reported.
    if (stream.destroyed || stream.closed) return;
    const { ":method": method = "", ":path": url = "" } = headers;
    const servedRequest = pipeline.receive(connection, { stream }, { method, headers, url });
    stream.on("close", () => connections.finish(servedRequest));
    const { outcome, origin } = servedRequest.verdict;
    const onWritten = (): void => connections.written(connection);
    if (outcome === "pass" && origin === undefined && services.current?.grpcUnary(stream, headers, onWritten)) return;
    const early = pipeline.earlyResponse(servedRequest);
    if (early !== undefined) {
      // Not with Node's response object, which waits for trailers: a stream that is closed before "wantTrailers" ends the
      // process with a failed assertion (Node 20).
      drain(stream);
      stream.once("finish", () => stopReceiving(stream));
      stream.respond({ ":status": early.statusCode, ...early.headers }, { endStream: early.body.length === 0 });
      if (early.body.length > 0) stream.end(early.body);
      return;
    }
    const request = new Http2ServerRequest(stream, headers, {}, rawHeaders);
    const response = new PiecewiseResponse(stream, servedRequest, onWritten);
    // A client that continues to send after its response would keep the stream open, and delay a shutdown. The response sends
    // its trailers on this event, and the reset must not overtake them.
    stream.on("wantTrailers", () => stopReceiving(stream));
    pipeline.dispatch(servedRequest, request, response);
  }

  return async (connection) => {
    // HTTP/2 clients call services. A stream cannot wait for these to load: one without a body would end before it has a listener.
    if (services.current === undefined) {
      connection.awaiting = "services";
      await services.load();
      if (connection.socket.destroyed) return;
      connection.idleSince = performance.now();
    }
    connection.awaiting = "settings";
    const session = performServerHandshake(connection.socket, {
      settings: { maxConcurrentStreams, maxHeaderListSize: maxHeaderBytes },
    });
    connection.session = session;
    onSession(session);
    session.on("error", (error) => countMalformed(connections.counters, error));
    session.once("remoteSettings", () => {
      connection.awaiting = "request";
    });
    // The fourth argument is missing in the types.
    session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...[, rawHeaders]: unknown[]) =>
      onStream(connection, stream, headers, rawHeaders as string[]),
    );
  };
}

function ignore(): void {}

type OnWritten = (error: Error) => void;

/** An HTTP/2 response that counts its bytes, and writes in pieces, so that its stream shows how many the client has read. */
class PiecewiseResponse extends Http2ServerResponse {
  readonly #servedRequest: ServedRequest;

  readonly #onWritten: () => void;

  constructor(stream: ServerHttp2Stream, servedRequest: ServedRequest, onWritten: () => void) {
    super(stream);
    this.#servedRequest = servedRequest;
    this.#onWritten = onWritten;
  }

  /** As Node's. `end` calls this too. */
  override write(chunk: string | Uint8Array, callback?: OnWritten): boolean;
  override write(chunk: string | Uint8Array, encoding?: BufferEncoding, callback?: OnWritten): boolean;
  override write(chunk: string | Uint8Array, second?: BufferEncoding | OnWritten, callback?: OnWritten): boolean {
    const encoding = second as BufferEncoding;
    if (!(chunk.length > pieceBytes)) {
      this.#servedRequest.bytesWritten += chunk.length;
      if (this.stream.writableLength > pieceBytes) sendOneByOne(this.stream);
      const canWriteMore = super.write(chunk, encoding, callback);
      this.#onWritten();
      return canWriteMore;
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, typeof second === "string" ? second : "utf8") : chunk;
    this.#servedRequest.bytesWritten += bytes.length;
    const pieces = piecesFor(this.stream, bytes);
    const last = pieces.pop() as Uint8Array;
    for (const piece of pieces) super.write(piece);
    const canWriteMore = super.write(last, encoding, callback);
    this.#onWritten();
    return canWriteMore;
  }
}
