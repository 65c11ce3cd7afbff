import { type BodyShape, isConnectGet, requestShapeOf, responseShapeOf } from "../messages/body-shape.js";
import { countOutcome, isOk } from "../messages/call-outcome.js";
import { MessageCounter } from "../messages/message-counter.js";
import type { Origin } from "./origin.js";
import type { UndiciChannel } from "./undici-channel.js";
import type { UndiciConnection } from "./undici-connection.js";
import { headerOf, type UndiciRequest } from "./undici-messages.js";

/** Follows one undici request and its response, and counts the call, the stream and the messages. */
export class UndiciExchange {
  readonly origin: Origin;
  readonly #requestShape: BodyShape;
  readonly #isConnectGet: boolean;
  /** Whether it requests an upgrade or a tunnel. */
  readonly #mayUpgrade: boolean;
  readonly #sent = new MessageCounter();
  readonly #received = new MessageCounter();
  /** The channel that counts it, once it is known that no other instrument shows this request. */
  #channel: UndiciChannel | undefined;
  #connection: UndiciConnection | undefined;
  #isOver = false;
  #receivedShape: BodyShape = "whole";
  #httpStatus: number | undefined;
  #grpcStatus: string | undefined;

  constructor(origin: Origin, { method, path, headers, contentType, upgrade }: UndiciRequest) {
    this.origin = origin;
    this.#isConnectGet = isConnectGet(method, path);
    this.#requestShape = this.#isConnectGet ? "unary" : undiciRequestShape(contentType, headers);
    this.#mayUpgrade = Boolean(upgrade) || method === "CONNECT";
    this.#sent.begin(this.#requestShape);
  }

  /** Whether it has not been written to a connection yet. */
  get isWaiting(): boolean {
    return !this.#isOver && this.#channel === undefined;
  }

  /** The request headers were written to a connection. undici may retry on another connection if that one is lost. */
  assigned(connection: UndiciConnection, channel: UndiciChannel): void {
    this.#countAt(channel);
    this.#leaveConnection(false, false);
    this.#connection = connection;
    this.#sent.begin(this.#requestShape);
    connection.begin(this);
  }

  chunkSent(chunk: unknown): void {
    if (!this.#isConnectGet) this.#messagesSent(this.#sent.add(bytesOf(chunk)));
  }

  requestSent(): void {
    this.#messagesSent(this.#isConnectGet ? 1 : this.#sent.end());
  }

  responded(statusCode: number, headers: unknown): void {
    // An informational response, such as 103.
    if (statusCode < 200 && statusCode !== 101) return;
    this.#httpStatus = statusCode;
    this.#receivedShape = responseShapeOf(this.#requestShape, headerOf(headers, "content-type"), statusCode);
    this.#grpcStatus = headerOf(headers, "grpc-status");
    this.#received.begin(this.#receivedShape);
  }

  chunkReceived(chunk: unknown): void {
    this.#messagesReceived(this.#received.add(bytesOf(chunk)));
  }

  /** The complete response was received. An upgraded request lasts as long as its connection. */
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

  /** The request failed. If it was not written to a connection, the given channel counts it. */
  failed(channel: UndiciChannel | undefined): void {
    if (this.isWaiting && channel !== undefined) this.#countAt(channel);
    this.#finish(false, false);
  }

  /** The connection closed. undici does not report the end of an upgraded request. */
  connectionClosed(isOrderly: boolean): void {
    if (this.#mayUpgrade) this.#finish(isOrderly, isOrderly);
  }

  /** Another instrument shows the connection of this request, and so the request. */
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

function undiciRequestShape(contentType: unknown, headers: unknown): BodyShape {
  const type = contentType ?? headerOf(headers, "content-type");
  if (type === undefined || type === null) return "whole";
  return requestShapeOf({
    "content-type": type,
    "connect-protocol-version": headerOf(headers, "connect-protocol-version"),
  });
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  return typeof chunk === "string" ? Buffer.from(chunk) : new Uint8Array();
}
