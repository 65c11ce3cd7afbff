import type { IncomingMessage, OutgoingMessage } from "node:http";
import type { Socket } from "node:net";
import type { SocketHandle } from "@wirescope/channelz";
import { guardNode } from "../guard-listener.js";
import { type BodyShape, isConnectGet, requestShapeOf, responseShapeOf } from "../messages/body-shape.js";
import { type CallCounters, countOutcome, isOk } from "../messages/call-outcome.js";
import { MessageCounter } from "../messages/message-counter.js";
import {
  contentTypeOf,
  grpcStatusOf,
  hasBody,
  isConnectGetRequest,
  outgoingRequestShape,
  statusOf,
} from "./outgoing-message.js";

/** The property of an HTTP message that holds the tracker of its exchange. */
export const exchangeKey: unique symbol = Symbol("wirescope.exchange");

/** A request or a response, followed or not. */
export interface Followed {
  [exchangeKey]?: ExchangeTracker | undefined;
}

/** Something that has exchanges in progress. */
export interface ExchangeHolder {
  /** Called once when an exchange has ended. */
  exchangeEnded(exchange: ExchangeTracker): void;
}

export interface ExchangeCounters extends ExchangeHolder {
  readonly isClient: boolean;
  readonly calls: readonly CallCounters[];
}

/** Counted for a string if only its presence matters. */
const someBytes = new Uint8Array(1);

/** Trackers kept for reuse, at most `maxPooled`. */
const pool: ExchangeTracker[] = [];
const maxPooled = 1024;

/** Starts to follow an exchange, and counts its call as started. */
export function beginExchange(counters: ExchangeCounters): ExchangeTracker {
  const tracker = pool.pop() ?? new ExchangeTracker();
  tracker.begin(counters);
  return tracker;
}

/**
 * Follows one HTTP/1.1 request and its response, and counts the call, the stream and the messages.
 *
 * HTTP/1.1 has no streams; an exchange is counted as one. It succeeded on a client when the complete response was received, on a
 * server when it was sent. Trackers are pooled, so that an exchange allocates none.
 */
export class ExchangeTracker {
  #counters: ExchangeCounters | undefined;
  #socket: SocketHandle | undefined;
  #subchannel: CallCounters | undefined;
  /** A client's connection, once it is assigned. */
  #connection: ExchangeHolder | undefined;
  #incoming: (IncomingMessage & Followed) | undefined;
  #outgoing: (OutgoingMessage & Followed) | undefined;
  readonly #sent = new MessageCounter();
  readonly #received = new MessageCounter();
  /** The shape of the request body; undefined on a client until it is needed. */
  #requestShape: BodyShape | undefined;
  /** The shape of the sent body; undefined until it is known. */
  #sentShape: BodyShape | undefined;
  #receivedShape: BodyShape = "whole";
  /** The number of messages completed by the last bytes; counted when everything is sent. */
  #completing = 0;
  #hasReceivedEnd = false;
  #hasSentEnd = false;
  #isFlushed = false;
  #isTunnel = false;
  /** On a server: whether the request for a tunnel was refused, or its client left it without a close. */
  #hasTunnelFailed = false;

  begin(counters: ExchangeCounters): void {
    this.#counters = counters;
    this.#requestShape = undefined;
    this.#sentShape = undefined;
    this.#receivedShape = "whole";
    this.#completing = 0;
    this.#hasReceivedEnd = false;
    this.#hasSentEnd = false;
    this.#isFlushed = false;
    this.#isTunnel = false;
    this.#hasTunnelFailed = false;
    this.#sent.begin("whole");
    this.#received.begin("whole");
    for (const counter of counters.calls) counter.callStarted();
  }

  /** Its counters; undefined once it has ended. */
  get counters(): ExchangeCounters | undefined {
    return this.#counters;
  }

  /** On a client: whether the response is not complete. */
  get isAwaitingResponse(): boolean {
    return !this.#isTunnel && !this.#hasReceivedEnd;
  }

  /** On a server: a request arrived. */
  serve(socket: SocketHandle, request: IncomingMessage, response: OutgoingMessage): void {
    this.#socket = socket;
    socket.remoteStreamStarted();
    const { headers, method, url } = request;
    if (isConnectGet(method, url)) {
      this.#requestShape = "unary";
      this.#followIncoming(request, "none");
      socket.messageReceived();
    } else {
      this.#requestShape = requestShapeOf(headers);
      this.#followIncoming(request, this.#requestShape);
    }
    // The response to a plain HTTP request is plain HTTP; only an RPC response can have another shape.
    if (this.#requestShape === "whole") this.#setSentShape("whole");
    this.follow(response);
  }

  /** Follows the message that this end sends. */
  follow(outgoing: OutgoingMessage & Followed): void {
    this.#outgoing = outgoing;
    outgoing[exchangeKey] = this;
  }

  /** On a client: the exchange was assigned a connection, which may still be connecting. */
  assigned(connection: ExchangeHolder): void {
    this.#connection = connection;
  }

  /** On a client: its connection is ready, and the exchange starts on it. */
  connected(socket: SocketHandle, subchannel: CallCounters): void {
    if (this.#socket !== undefined) return;
    this.#socket = socket;
    this.#subchannel = subchannel;
    socket.localStreamStarted();
    subchannel.callStarted();
  }

  /** On a client: the headers of the response arrived. */
  responded(response: IncomingMessage): void {
    const { headers, statusCode } = response;
    this.#followIncoming(response, responseShapeOf(this.#readRequestShape(), headers["content-type"], statusCode));
  }

  /** On a server: a request upgraded the connection; the exchange lasts until the connection closes. */
  serveTunnel(socket: SocketHandle): void {
    this.#isTunnel = true;
    this.#socket = socket;
    socket.remoteStreamStarted();
  }

  /** On a server: the tunnel was not opened, or not closed properly, although all bytes may be sent. */
  tunnelFailed(): void {
    this.#hasTunnelFailed = true;
  }

  /** On a client: likewise if the server accepted the upgrade; otherwise this is the complete response. */
  tunneled(response: IncomingMessage): void {
    const { statusCode = 0 } = response;
    this.#followIncoming(response, "whole");
    if (statusCode < 300) this.#isTunnel = true;
    else this.finish(true);
  }

  /** Bytes of the peer's body arrived, or null for its end. */
  received(message: IncomingMessage, chunk: unknown): void {
    if (chunk !== null) {
      if (!(chunk instanceof Uint8Array)) return;
      for (let completed = this.#received.add(chunk); completed > 0; completed -= 1) this.#socket?.messageReceived();
      return;
    }
    // Node also ends a truncated body, so that readers are not left waiting.
    if (this.#hasReceivedEnd || !message.complete) return;
    this.#hasReceivedEnd = true;
    if (this.#received.end() > 0) this.#socket?.messageReceived();
    if (this.#counters?.isClient && this.#hasSentEnd) this.finish(true);
  }

  /**
   * Bytes are about to be written. Returns the callback to use instead of `callback`, or `callback` itself if the bytes complete no
   * message.
   */
  writing(chunk: unknown, encoding: unknown, callback: WriteCallback | undefined): WriteCallback | undefined {
    const completed = this.#count(chunk, encoding);
    const outgoing = this.#outgoing;
    if (completed === 0 || outgoing === undefined) return callback;
    // Several writes may be in progress, and the order of their callbacks is undefined if some of them fail.
    return (error) => {
      if (!error && outgoing === this.#outgoing && hasBody(outgoing)) this.#countSent(completed);
      callback?.(error);
    };
  }

  readonly #countSent = guardNode((count: number): void => {
    for (let i = 0; i < count; i += 1) this.#socket?.messageSent();
  });

  /** The last bytes are about to be written, if there are any. */
  ending(chunk: unknown, encoding: unknown): void {
    if (typeof chunk !== "function") this.#completing += this.#count(chunk, encoding);
  }

  /** The message was ended. If the kernel accepted all of it at once, a later connection failure does not matter. */
  ended(outgoing: OutgoingMessage): void {
    this.#isFlushed ||= outgoing.writableLength === 0 && isAlive(outgoing.socket);
  }

  /** Node reports that everything was sent, which it also does if the connection was destroyed before. */
  finished(socket: Socket | null): void {
    if (this.#hasSentEnd || !(this.#isFlushed || isAlive(socket))) return;
    this.#hasSentEnd = true;
    const outgoing = this.#outgoing;
    if (outgoing !== undefined && this.#counters?.isClient && isConnectGetRequest(outgoing)) {
      this.#socket?.messageSent();
    } else if (outgoing !== undefined && hasBody(outgoing)) {
      for (let count = this.#completing + this.#sent.end(); count > 0; count -= 1) this.#socket?.messageSent();
    }
    if (this.#counters?.isClient && this.#hasReceivedEnd) this.finish(true);
  }

  /** The request or response is closed. */
  closed(): void {
    if (!this.#isTunnel) this.connectionClosed(false);
  }

  /** The connection is closed; after an upgrade, `hasTunnelEnded` says whether it ended properly. */
  connectionClosed(hasTunnelEnded: boolean): void {
    if (this.#isTunnel) this.finish(hasTunnelEnded);
    else this.finish(this.#counters?.isClient ? this.#hasReceivedEnd : this.#hasSentEnd || this.#isFlushed);
  }

  finish(isComplete: boolean): void {
    const counters = this.#counters;
    if (counters === undefined) return;
    this.#counters = undefined;
    const isSuccess = isComplete && (this.#isTunnel ? !this.#hasTunnelFailed : this.#isOk(counters.isClient));
    if (isComplete) this.#socket?.streamSucceeded();
    else this.#socket?.streamFailed();
    for (const counter of counters.calls) countOutcome(counter, isSuccess);
    if (this.#subchannel !== undefined) countOutcome(this.#subchannel, isSuccess);
    counters.exchangeEnded(this);
    this.#connection?.exchangeEnded(this);
    if (this.#incoming !== undefined) this.#incoming[exchangeKey] = undefined;
    if (this.#outgoing !== undefined) this.#outgoing[exchangeKey] = undefined;
    this.#incoming = undefined;
    this.#outgoing = undefined;
    this.#socket = undefined;
    this.#subchannel = undefined;
    this.#connection = undefined;
    if (pool.length < maxPooled) pool.push(this);
  }

  #followIncoming(incoming: IncomingMessage & Followed, shape: BodyShape): void {
    this.#incoming = incoming;
    incoming[exchangeKey] = this;
    this.#receivedShape = shape;
    this.#received.begin(shape);
  }

  #readRequestShape(): BodyShape {
    this.#requestShape ??= outgoingRequestShape(this.#outgoing);
    return this.#requestShape;
  }

  #shapeToSend(): BodyShape {
    if (this.#counters?.isClient) return this.#readRequestShape();
    return responseShapeOf(this.#readRequestShape(), contentTypeOf(this.#outgoing), statusOf(this.#outgoing));
  }

  #setSentShape(shape: BodyShape): void {
    this.#sentShape = shape;
    this.#sent.begin(shape);
  }

  #count(chunk: unknown, encoding: unknown): number {
    if (chunk === undefined || chunk === null || chunk === "") return 0;
    if (this.#sentShape === undefined) this.#setSentShape(this.#shapeToSend());
    if (chunk instanceof Uint8Array) return this.#sent.add(chunk);
    if (typeof chunk !== "string") return 0;
    if (this.#sentShape === "whole") return this.#sent.add(someBytes);
    return this.#sent.add(Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8"));
  }

  #isOk(isClient: boolean): boolean {
    if (isClient) {
      const incoming = this.#incoming!;
      const shape = this.#receivedShape;
      return isOk({
        shape,
        httpStatus: incoming.statusCode,
        grpcStatus: isPlain(shape) ? undefined : (incoming.trailers["grpc-status"] ?? incoming.headers["grpc-status"]),
        envelopeStatus: this.#received.status,
      });
    }
    const shape = this.#sentShape ?? this.#shapeToSend();
    return isOk({
      shape,
      httpStatus: statusOf(this.#outgoing),
      grpcStatus: isPlain(shape) ? undefined : grpcStatusOf(this.#outgoing),
      envelopeStatus: this.#sent.status,
    });
  }
}

/** Called by Node when bytes are written. */
export type WriteCallback = (error?: Error | null) => void;

function isPlain(shape: BodyShape): boolean {
  return shape === "whole" || shape === "unary" || shape === "none";
}

function isAlive(socket: Socket | null): boolean {
  return socket !== null && !socket.destroyed && !socket.errored;
}
