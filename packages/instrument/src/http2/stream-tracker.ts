import type { Http2Stream, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { SocketHandle } from "@wirescope/channelz";
import { bodyShapeOf } from "../messages/body-shape.js";
import { isOk } from "../messages/call-outcome.js";
import { MessageCounter } from "../messages/message-counter.js";
import type { ResetFolder } from "./reset-folder.js";

/** What counts calls: a channel and its subchannel on a client, a server on a server. */
export interface CallCounters {
  callStarted(): void;
  callSucceeded(): void;
  callFailed(): void;
}

/** Where the streams of a session are counted. */
export interface StreamCounters {
  /** Undefined while a client is not connected. */
  readonly socket: SocketHandle | undefined;
  readonly calls: readonly CallCounters[];
  readonly resets: ResetFolder;
  readonly isClient: boolean;
  /** Whether the other end began it, although this is the client. */
  readonly isPushed?: boolean;
}

type WriteCallback = (error?: Error | null) => void;

/**
 * Follows one stream of HTTP/2 from its first frame to its last, and counts what it did.
 *
 * By the rule of Channelz a stream succeeded on a client when the end-of-stream bit was received, on a server when it was
 * sent. Trackers are used again, so that a call allocates none.
 */
export class StreamTracker {
  #socket: SocketHandle | undefined;
  #counters: StreamCounters | undefined;
  readonly #sent = new MessageCounter();
  readonly #received = new MessageCounter();
  #hasReceivedEnd = false;
  #waitsForTrailers = false;
  #contentType: unknown;
  #httpStatus: number | undefined;
  #grpcStatus: unknown;
  #writeCallback: WriteCallback | undefined;
  #completing = 0;
  /** Made once and used for every write of every stream, since there is at most one write at a time. */
  readonly #onWritten: WriteCallback = (error) => {
    const callback = this.#writeCallback;
    this.#writeCallback = undefined;
    if (!error) for (let i = 0; i < this.#completing; i += 1) this.#socket?.messageSent();
    this.#completing = 0;
    callback?.(error);
  };

  begin(counters: StreamCounters, contentType: unknown): void {
    const { socket, calls, isClient, isPushed = false } = counters;
    this.#socket = socket;
    this.#counters = counters;
    this.#hasReceivedEnd = false;
    this.#waitsForTrailers = false;
    this.#httpStatus = undefined;
    this.#grpcStatus = undefined;
    this.#contentType = contentType;
    this.#completing = 0;
    this.#sent.begin(bodyShapeOf(contentType));
    this.#received.begin(bodyShapeOf(contentType));
    for (const counter of calls) counter.callStarted();
    if (isClient && !isPushed) socket?.localStreamStarted();
    else socket?.remoteStreamStarted();
  }

  /** The connection came up after the call began. */
  connected(socket: SocketHandle): void {
    this.#socket = socket;
    socket.localStreamStarted();
  }

  /** Data came, or null for the end; Node also pushes null on a stream that is already closed, which is no end. */
  received(stream: Http2Stream, chunk: unknown): void {
    if (chunk === null) {
      if (this.#hasReceivedEnd || stream.closed) return;
      this.#hasReceivedEnd = true;
      if (this.#received.end() > 0) this.#socket?.messageReceived();
    } else if (chunk instanceof Uint8Array) {
      for (let completed = this.#received.add(chunk); completed > 0; completed -= 1) this.#socket?.messageReceived();
    }
  }

  /** The headers of the answer came, on a client. */
  responded(headers: IncomingHttpHeaders): void {
    this.#httpStatus = headers[":status"] as number | undefined;
    this.#contentType = headers["content-type"];
    this.#grpcStatus = headers["grpc-status"];
    this.#received.begin(bodyShapeOf(this.#contentType));
  }

  /** The trailers came, on a client. */
  concluded(trailers: IncomingHttpHeaders): void {
    this.#grpcStatus = trailers["grpc-status"] ?? this.#grpcStatus;
  }

  /** The end-of-stream bit of a server's answer comes with its trailers, and not with the last data. */
  waitsForTrailers(): void {
    this.#waitsForTrailers = true;
  }

  /** Bytes are about to be written; more may follow before `onWritten` is asked for. */
  writing(chunk: Uint8Array): void {
    this.#completing += this.#sent.add(chunk);
  }

  /** What to call, in place of `callback`, when the bytes are written. */
  onWritten(callback: WriteCallback): WriteCallback {
    this.#writeCallback = callback;
    return this.#onWritten;
  }

  /** A server begins its answer. */
  answering(contentType: unknown): void {
    this.#sent.begin(bodyShapeOf(contentType));
  }

  /** All that was to be sent is written: a body without envelopes was a message. Node also ends what was reset, unsent. */
  allWritten(stream: Http2Stream): void {
    const isUnsent =
      stream.rstCode || (this.#counters?.isClient === false && !(stream as ServerHttp2Stream).headersSent);
    if (!isUnsent && this.#sent.end() > 0) this.#socket?.messageSent();
  }

  /** The stream is gone. True if the tracker can be used again. */
  finish(stream: Http2Stream): boolean {
    const { calls, resets, isClient } = this.#counters!;
    const isComplete = isClient ? this.#hasReceivedEnd : this.#hasSentEnd(stream as ServerHttp2Stream);
    if (isComplete) this.#socket?.streamSucceeded();
    else this.#socket?.streamFailed();
    if (stream.rstCode) resets.add(stream.rstCode);
    const isSuccess =
      isComplete && (isClient ? this.#isOkForClient() : this.#isOkOnServer(stream as ServerHttp2Stream));
    for (const counter of calls) {
      if (isSuccess) counter.callSucceeded();
      else counter.callFailed();
    }
    this.#socket = undefined;
    this.#counters = undefined;
    return this.#writeCallback === undefined;
  }

  #hasSentEnd(stream: ServerHttp2Stream): boolean {
    // A stream that is reset before its answer began is ended by Node all the same, and nothing of that is sent.
    if (!stream.headersSent || !stream.writableFinished) return false;
    return !this.#waitsForTrailers || stream.sentTrailers !== undefined;
  }

  #isOkForClient(): boolean {
    return isOk({
      shape: bodyShapeOf(this.#contentType),
      httpStatus: this.#httpStatus,
      grpcStatus: this.#grpcStatus,
      envelopeStatus: this.#received.status,
    });
  }

  #isOkOnServer(stream: ServerHttp2Stream): boolean {
    const { sentHeaders, sentTrailers } = stream;
    return isOk({
      shape: bodyShapeOf(sentHeaders?.["content-type"]),
      httpStatus: Number(sentHeaders?.[":status"] ?? 200),
      grpcStatus: sentTrailers?.["grpc-status"] ?? sentHeaders?.["grpc-status"],
      envelopeStatus: this.#sent.status,
    });
  }
}
