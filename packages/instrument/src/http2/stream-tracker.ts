import type { Http2Stream, IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { SocketHandle } from "@wirescope/channelz";
import type { EventCoalescer } from "../event-coalescer.js";
import { guardNode } from "../guard-listener.js";
import { type BodyShape, isConnectGet, requestShapeOf, responseShapeOf } from "../messages/body-shape.js";
import { type CallCounters, countOutcome, isOk } from "../messages/call-outcome.js";
import { MessageCounter } from "../messages/message-counter.js";
import { errorCodeName } from "./error-codes.js";
import { hasSentBytes, hasSentEndOfStream, isEndedBeforeReset } from "./stream-internals.js";

/** The counters for the streams of a session. */
export interface StreamCounters {
  /** Undefined while a client is not connected. */
  readonly socket: SocketHandle | undefined;
  /** Empty for pushed streams, which are not calls. */
  readonly calls: readonly CallCounters[];
  readonly resets: Pick<EventCoalescer, "add">;
  readonly isClient: boolean;
  readonly arePushed: boolean;
  /** The number of streams in progress. */
  openStreams: number;
}

type WriteCallback = (error?: Error | null) => void;

/**
 * Follows one HTTP/2 stream from its first frame to its last, and counts the stream, its call and its messages.
 *
 * As Channelz defines it, a stream succeeded on a client when the end-of-stream bit was received, on a server when it was sent.
 * Trackers are pooled, so that a call allocates none.
 */
export class StreamTracker {
  #socket: SocketHandle | undefined;
  #counters: StreamCounters | undefined;
  readonly #sent = new MessageCounter();
  readonly #received = new MessageCounter();
  #requestShape: BodyShape = "whole";
  #isConnectGet = false;
  #hasReceivedEnd = false;
  #waitsForTrailers = false;
  /** Whether the response is a file, whose bytes are not seen here. */
  #sendsFile = false;
  #hasSentFile = false;
  /** The shape of the response; undefined until it begins, and for a file response. */
  #responseShape: BodyShape | undefined;
  #httpStatus: number | undefined;
  #grpcStatus: unknown;
  #writeCallback: WriteCallback | undefined;
  #completing = 0;
  /** Created once and used for every write of every stream, because there is at most one write at a time. */
  readonly #onWritten: WriteCallback = (error) => {
    const callback = this.#writeCallback;
    this.#writeCallback = undefined;
    if (!error) this.#countSent();
    this.#completing = 0;
    callback?.(error);
  };
  readonly #countSent = guardNode((): void => {
    for (let i = 0; i < this.#completing; i += 1) this.#socket?.messageSent();
  });

  begin(counters: StreamCounters, requestHeaders: IncomingHttpHeaders | OutgoingHttpHeaders | undefined): void {
    const { socket, calls, isClient, arePushed } = counters;
    counters.openStreams += 1;
    this.#socket = socket;
    this.#counters = counters;
    this.#hasReceivedEnd = false;
    this.#waitsForTrailers = false;
    this.#sendsFile = false;
    this.#hasSentFile = false;
    this.#httpStatus = undefined;
    this.#grpcStatus = undefined;
    this.#responseShape = undefined;
    this.#completing = 0;
    this.#isConnectGet =
      requestHeaders !== undefined && isConnectGet(requestHeaders[":method"], requestHeaders[":path"]);
    this.#requestShape = this.#isConnectGet ? "unary" : requestShapeOf(requestHeaders);
    this.#sent.begin(this.#isConnectGet && isClient ? "none" : this.#requestShape);
    this.#received.begin(this.#isConnectGet && !isClient ? "none" : this.#requestShape);
    for (const counter of calls) counter.callStarted();
    if (isClient === arePushed) socket?.remoteStreamStarted();
    else socket?.localStreamStarted();
    if (this.#isConnectGet) this.#countMessageInPath(isClient);
  }

  /** Its counters; undefined once it has ended. */
  get counters(): StreamCounters | undefined {
    return this.#counters;
  }

  /** The connection was established after the call began. */
  connected(socket: SocketHandle): void {
    this.#socket = socket;
    socket.localStreamStarted();
    if (this.#isConnectGet) this.#countMessageInPath(true);
  }

  /** Data arrived, or null for the end; Node also pushes null on a stream that is already closed, which does not count. */
  received(stream: Http2Stream, chunk: unknown): void {
    if (chunk === null) {
      if (stream.closed) this.closing(stream);
      if (this.#hasReceivedEnd || stream.closed) return;
      this.#hasReceivedEnd = true;
      if (this.#received.end() > 0) this.#socket?.messageReceived();
    } else if (chunk instanceof Uint8Array) {
      for (let completed = this.#received.add(chunk); completed > 0; completed -= 1) this.#socket?.messageReceived();
    }
  }

  /** The headers of the response arrived, on a client. */
  responded(headers: IncomingHttpHeaders): void {
    this.#grpcStatus = headers["grpc-status"];
    this.#received.begin(this.#beginResponse(headers["content-type"], headers[":status"] as number | undefined));
  }

  /** The trailers arrived, on a client. */
  trailersReceived(trailers: IncomingHttpHeaders): void {
    this.#grpcStatus = trailers["grpc-status"] ?? this.#grpcStatus;
  }

  /** A server sends the end-of-stream bit with the trailers, not with the last data. */
  waitsForTrailers(): void {
    this.#waitsForTrailers = true;
  }

  /** Bytes are about to be written; more may follow before `onWritten` is called. */
  writing(chunk: Uint8Array): void {
    this.#completing += this.#sent.add(chunk);
  }

  /** Returns the write callback to use instead of `callback`. */
  onWritten(callback: WriteCallback): WriteCallback {
    this.#writeCallback = callback;
    return this.#onWritten;
  }

  /** A server begins its response. */
  responding(headers: OutgoingHttpHeaders | undefined): void {
    this.#sendsFile = false;
    this.#waitsForTrailers = false;
    this.#sent.begin(this.#beginResponse(headers?.["content-type"], Number(headers?.[":status"] ?? 200)));
  }

  /** A server begins a response whose body is a file. It may still respond otherwise, if the file cannot be sent. */
  respondingWithFile(): void {
    this.#sendsFile = true;
    this.#responseShape = undefined;
  }

  /** The stream is about to close: the last moment to find out whether a file was sent completely. */
  closing(stream: Http2Stream): void {
    if (this.#sendsFile) this.#hasSentFile ||= hasSentEndOfStream(stream);
  }

  /** Everything is written: a body without envelopes was one message. Node also calls this if a stream was reset before it sent anything. */
  allWritten(stream: Http2Stream): void {
    const isUnsent =
      stream.rstCode || (this.#counters?.isClient === false && !(stream as ServerHttp2Stream).headersSent);
    if (!isUnsent && this.#sent.end() > 0) this.#socket?.messageSent();
  }

  /** The stream is destroyed. Returns whether the tracker can be reused. */
  finish(stream: Http2Stream): boolean {
    const counters = this.#counters!;
    const { calls, resets, isClient } = counters;
    counters.openStreams -= 1;
    const isComplete = isClient ? this.#hasReceivedEnd : this.#hasSentEnd(stream as ServerHttp2Stream);
    if (isComplete) this.#socket?.streamSucceeded();
    else this.#socket?.streamFailed();
    if (stream.rstCode) resets.add(errorCodeName(stream.rstCode));
    if (calls.length > 0) {
      const isSuccess =
        isComplete && (isClient ? this.#isOkForClient() : this.#isOkOnServer(stream as ServerHttp2Stream));
      for (const counter of calls) countOutcome(counter, isSuccess);
    }
    this.#socket = undefined;
    this.#counters = undefined;
    return this.#writeCallback === undefined;
  }

  #countMessageInPath(isClient: boolean): void {
    if (isClient) this.#socket?.messageSent();
    else this.#socket?.messageReceived();
  }

  #beginResponse(contentType: unknown, httpStatus: number | undefined): BodyShape {
    this.#httpStatus = httpStatus;
    this.#responseShape = responseShapeOf(this.#requestShape, contentType, httpStatus);
    return this.#responseShape;
  }

  #hasSentEnd(stream: ServerHttp2Stream): boolean {
    // Node also ends a stream that is reset before its response began, without sending anything.
    if (!stream.headersSent || !stream.writableFinished || !isEndedBeforeReset(stream)) return false;
    if (this.#sendsFile) {
      if (this.#hasSentFile && hasSentBytes(stream)) this.#socket?.messageSent();
      return this.#hasSentFile;
    }
    return !this.#waitsForTrailers || stream.sentTrailers !== undefined;
  }

  #isOkForClient(): boolean {
    return isOk({
      shape: this.#responseShape ?? "none",
      httpStatus: this.#httpStatus,
      grpcStatus: this.#grpcStatus,
      envelopeStatus: this.#received.status,
    });
  }

  #isOkOnServer(stream: ServerHttp2Stream): boolean {
    const { sentHeaders, sentTrailers } = stream;
    return isOk({
      shape:
        this.#responseShape ??
        this.#beginResponse(sentHeaders?.["content-type"], Number(sentHeaders?.[":status"] ?? 200)),
      httpStatus: this.#httpStatus,
      grpcStatus: sentTrailers?.["grpc-status"] ?? sentHeaders?.["grpc-status"],
      envelopeStatus: this.#sent.status,
    });
  }
}
