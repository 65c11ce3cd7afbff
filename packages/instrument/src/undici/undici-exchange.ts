import { type BodyShape, isAskedInPath, questionShapeOf, responseShapeOf } from "../messages/body-shape.js";
import { countOutcome, isOk } from "../messages/call-outcome.js";
import { MessageCounter } from "../messages/message-counter.js";
import type { Origin } from "./origin.js";
import type { UndiciChannel } from "./undici-channel.js";
import type { UndiciConnection } from "./undici-connection.js";
import { headerOf, type UndiciRequest } from "./undici-messages.js";

/** Follows one request of undici and its response, and counts what they did; an exchange counts as one stream. */
export class UndiciExchange {
  /** Its destination. */
  readonly origin: Origin;
  readonly #question: BodyShape;
  readonly #isAskedInPath: boolean;
  /** Whether the connection becomes something else if the server agrees. */
  readonly #mayUpgrade: boolean;
  readonly #sent = new MessageCounter();
  readonly #received = new MessageCounter();
  /** Its counters, once it is known that no other instrument shows this request. */
  #channel: UndiciChannel | undefined;
  #connection: UndiciConnection | undefined;
  #isOver = false;
  #receivedShape: BodyShape = "whole";
  #httpStatus: number | undefined;
  #grpcStatus: string | undefined;

  constructor(origin: Origin, { method, path, headers, contentType, upgrade }: UndiciRequest) {
    this.origin = origin;
    this.#isAskedInPath = isAskedInPath(method, path);
    this.#question = this.#isAskedInPath ? "unary" : questionOf(contentType, headers);
    this.#mayUpgrade = Boolean(upgrade) || method === "CONNECT";
    this.#sent.begin(this.#question);
  }

  /** Whether it has not been written to a connection yet. */
  get isWaiting(): boolean {
    return !this.#isOver && this.#channel === undefined;
  }

  /** The headers of the request are written to a connection. undici may do that again, after a connection broke. */
  assigned(connection: UndiciConnection, channel: UndiciChannel): void {
    this.#countAt(channel);
    this.#leaveConnection(false, false);
    this.#connection = connection;
    this.#sent.begin(this.#question);
    connection.begin(this);
  }

  chunkSent(chunk: unknown): void {
    if (!this.#isAskedInPath) this.#messagesSent(this.#sent.add(bytesOf(chunk)));
  }

  requestSent(): void {
    this.#messagesSent(this.#isAskedInPath ? 1 : this.#sent.end());
  }

  responded(statusCode: number, headers: unknown): void {
    // An interim response, such as 103.
    if (statusCode < 200 && statusCode !== 101) return;
    this.#httpStatus = statusCode;
    this.#receivedShape = responseShapeOf(this.#question, headerOf(headers, "content-type"), statusCode);
    this.#grpcStatus = headerOf(headers, "grpc-status");
    this.#received.begin(this.#receivedShape);
  }

  chunkReceived(chunk: unknown): void {
    this.#messagesReceived(this.#received.add(bytesOf(chunk)));
  }

  /** The response has been received to its end. An upgraded request lives as long as its connection. */
  completed(trailers: unknown): void {
    if (this.#isUpgraded()) return;
    this.#messagesReceived(this.#received.end());
    this.#finish(
      true,
      isOk({
        shape: this.#receivedShape,
        httpStatus: this.#httpStatus,
        grpcStatus: headerOf(trailers, "grpc-status") ?? this.#grpcStatus,
        envelopeStatus: this.#received.status,
      }),
    );
  }

  /** The request failed; if it was written to no connection, the channel of its origin counts it, if there is one. */
  failed(channel: UndiciChannel | undefined): void {
    if (this.isWaiting && channel !== undefined) this.#countAt(channel);
    this.#finish(false, false);
  }

  /** The connection is closed. Until then undici reports nothing about a request that was upgraded. */
  connectionClosed(isOrderly: boolean): void {
    if (this.#mayUpgrade) this.#finish(isOrderly, isOrderly);
  }

  /** Something else shows the connection of this request, and the request with it. */
  leave(): void {
    if (this.isWaiting) this.#isOver = true;
  }

  #countAt(channel: UndiciChannel): void {
    if (this.#channel !== undefined || this.#isOver) return;
    this.#channel = channel;
    channel.callStarted();
  }

  #isUpgraded(): boolean {
    return this.#mayUpgrade && this.#httpStatus !== undefined && this.#httpStatus < 300;
  }

  #finish(isComplete: boolean, isSuccess: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leaveConnection(isComplete, isSuccess);
    if (this.#channel === undefined) return;
    countOutcome(this.#channel.handle, isSuccess);
    this.#channel.exchangeEnded();
  }

  #leaveConnection(isComplete: boolean, isSuccess: boolean): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    if (isComplete) connection.handle.streamSucceeded();
    else connection.handle.streamFailed();
    countOutcome(connection.subchannel.handle, isSuccess);
    connection.end(this);
  }

  #messagesSent(count: number): void {
    for (let left = count; left > 0; left -= 1) this.#connection?.handle.messageSent();
  }

  #messagesReceived(count: number): void {
    for (let left = count; left > 0; left -= 1) this.#connection?.handle.messageReceived();
  }
}

function questionOf(contentType: unknown, headers: unknown): BodyShape {
  const type = contentType ?? headerOf(headers, "content-type");
  if (type === undefined || type === null) return "whole";
  return questionShapeOf({
    "content-type": type,
    "connect-protocol-version": headerOf(headers, "connect-protocol-version"),
  });
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  return typeof chunk === "string" ? Buffer.from(chunk) : new Uint8Array();
}
