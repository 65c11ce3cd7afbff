import { IncomingMessage, OutgoingMessage } from "node:http";
import type { Socket } from "node:net";
import { guardNode } from "../guard-listener.js";
import { abandonConnection } from "./client-connection.js";
import { type ExchangeTracker, exchangeKey, type Followed, type WriteCallback } from "./exchange-tracker.js";

interface OutgoingMethods extends Followed {
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  write(chunk: unknown, encoding: unknown, callback: WriteCallback | undefined): boolean;
  end(chunk: unknown, encoding: unknown, callback: unknown): unknown;
}

interface IncomingMethods extends Followed {
  readonly complete: boolean;
  readonly readableEnded: boolean;
  readonly socket: Socket | null;
  _destroy(error: Error | null, callback: WriteCallback): void;
  push(chunk: unknown, encoding?: BufferEncoding): boolean;
}

let isPatched = false;

/**
 * Patches the methods that every HTTP/1.1 body passes through, on the shared prototypes, because listeners would be visible to
 * the application. The overhead for a message that is not followed is one property read.
 */
export function patchMessages(): void {
  if (isPatched) return;
  isPatched = true;
  patchOutgoing(OutgoingMessage.prototype as unknown as OutgoingMethods);
  patchIncoming(IncomingMessage.prototype as unknown as IncomingMethods);
}

const observeWrite = guardNode(
  (tracker: ExchangeTracker, chunk: unknown, encoding: unknown, callback: WriteCallback | undefined) =>
    tracker.writing(chunk, encoding, callback),
);
const observeEnd = guardNode((tracker: ExchangeTracker, chunk: unknown, encoding: unknown): void =>
  tracker.ending(chunk, encoding),
);
const observeReceived = guardNode((tracker: ExchangeTracker, message: IncomingMessage, chunk: unknown): void =>
  tracker.received(message, chunk),
);

function patchOutgoing(prototype: OutgoingMethods): void {
  const { write, end } = prototype;

  prototype.write = function (chunk, encoding, callback) {
    const tracker = this[exchangeKey];
    if (tracker === undefined || this.writableEnded || this.destroyed) {
      return write.call(this, chunk, encoding, callback);
    }
    const onWritten = typeof encoding === "function" ? (encoding as WriteCallback) : callback;
    const watched = observeWrite(tracker, chunk, encoding, onWritten) ?? onWritten;
    return write.call(this, chunk, typeof encoding === "function" ? null : encoding, watched);
  };
  prototype.end = function (chunk, encoding, callback) {
    const tracker = this[exchangeKey];
    if (tracker === undefined || this.writableEnded || this.destroyed) {
      return end.call(this, chunk, encoding, callback);
    }
    observeEnd(tracker, chunk, encoding);
    const result = end.call(this, chunk, encoding, callback);
    if (this[exchangeKey] === tracker) tracker.ended(this as unknown as OutgoingMessage);
    return result;
  };
}

function patchIncoming(prototype: IncomingMethods): void {
  const { push, _destroy } = prototype;

  prototype._destroy = function (error, callback) {
    // A response that is destroyed before its end also destroys its connection.
    if (!this.readableEnded || !this.complete) abandonConnection(this.socket);
    _destroy.call(this, error, callback);
  };
  prototype.push = function (chunk, encoding) {
    const tracker = this[exchangeKey];
    if (tracker !== undefined) observeReceived(tracker, this as unknown as IncomingMessage, chunk);
    return push.call(this, chunk, encoding);
  };
}
