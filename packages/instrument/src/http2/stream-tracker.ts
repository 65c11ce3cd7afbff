import type { Http2Stream, IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { SocketHandle } from "@wirescope/channelz";
import type { EventFolder } from "../event-folder.js";
import { type BodyShape, isAskedInPath, questionShapeOf, responseShapeOf } from "../messages/body-shape.js";
import { type CallCounters, countOutcome, isOk } from "../messages/call-outcome.js";
import { MessageCounter } from "../messages/message-counter.js";
import { errorCodeName } from "./error-codes.js";
import { hasSentBytes, hasSentEndOfStream, isEndedBeforeReset } from "./stream-internals.js";

/** The counters for the streams of a session. */
export interface StreamCounters {
  /** Undefined while a client is not connected. */
  readonly socket: SocketHandle | undefined;
  /** None for what a server pushes, which nobody asked for. */
  readonly calls: readonly CallCounters[];
  readonly resets: EventFolder;
  readonly isClient: boolean;
  /** Whether the server began them. */
  readonly arePushed: boolean;
  /** How many are in progress. */
  openStreams: number;
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
  #question: BodyShape = "whole";
  #isAskedInPath = false;
  #hasReceivedEnd = false;
  #waitsForTrailers = false;
  /** Whether the response is a file, whose bytes do not pass here. */
  #sendsFile = false;
  #hasSentFile = false;
  /** The shape of the response; undefined until it begins, and for one whose beginning a server does not report. */
  #responseShape: BodyShape | undefined;
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

  begin(counters: StreamCounters, asked: IncomingHttpHeaders | OutgoingHttpHeaders | undefined): void {
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
    this.#isAskedInPath = asked !== undefined && isAskedInPath(asked[":method"], asked[":path"]);
    this.#question = this.#isAskedInPath ? "unary" : questionShapeOf(asked);
    this.#sent.begin(this.#isAskedInPath && isClient ? "none" : this.#question);
    this.#received.begin(this.#isAskedInPath && !isClient ? "none" : this.#question);
    for (const counter of calls) counter.callStarted();
    if (isClient === arePushed) socket?.remoteStreamStarted();
    else socket?.localStreamStarted();
    if (this.#isAskedInPath) this.#countQuestionInPath(isClient);
  }

  /** Its counters; undefined once it has ended. */
  get counters(): StreamCounters | undefined {
    return this.#counters;
  }

  /** The connection came up after the call began. */
  connected(socket: SocketHandle): void {
    this.#socket = socket;
    socket.localStreamStarted();
    if (this.#isAskedInPath) this.#countQuestionInPath(true);
  }

  /** Data came, or null for the end; Node also pushes null on a stream that is already closed, which is no end. */
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

  /** The trailers came, on a client. */
  concluded(trailers: IncomingHttpHeaders): void {
    this.#grpcStatus = trailers["grpc-status"] ?? this.#grpcStatus;
  }

  /** The end-of-stream bit of a server's response comes with its trailers, and not with the last data. */
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

  /** A server begins its response. */
  responding(headers: OutgoingHttpHeaders | undefined): void {
    this.#sendsFile = false;
    this.#waitsForTrailers = false;
    this.#sent.begin(this.#beginResponse(headers?.["content-type"], Number(headers?.[":status"] ?? 200)));
  }

  /** A server begins a response whose body is a file, unless it responds otherwise after all. */
  respondingWithFile(): void {
    this.#sendsFile = true;
    this.#responseShape = undefined;
  }

  /** The stream is about to close: the last moment at which it is known how far a file came. */
  closing(stream: Http2Stream): void {
    if (this.#sendsFile) this.#hasSentFile ||= hasSentEndOfStream(stream);
  }

  /** Everything is written: a body without envelopes was one message. Node also ends a stream that was reset before anything was sent. */
  allWritten(stream: Http2Stream): void {
    const isUnsent =
      stream.rstCode || (this.#counters?.isClient === false && !(stream as ServerHttp2Stream).headersSent);
    if (!isUnsent && this.#sent.end() > 0) this.#socket?.messageSent();
  }

  /** The stream is gone. True if the tracker can be used again. */
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

  #countQuestionInPath(isClient: boolean): void {
    if (isClient) this.#socket?.messageSent();
    else this.#socket?.messageReceived();
  }

  #beginResponse(contentType: unknown, httpStatus: number | undefined): BodyShape {
    this.#httpStatus = httpStatus;
    this.#responseShape = responseShapeOf(this.#question, contentType, httpStatus);
    return this.#responseShape;
  }

  #hasSentEnd(stream: ServerHttp2Stream): boolean {
    // A stream that is reset before its response began is ended by Node all the same, and nothing of that is sent.
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
