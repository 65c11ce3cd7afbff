import { IncomingMessage, OutgoingMessage } from "node:http";
import { exchangeKey, type Followed, type WriteCallback } from "./exchange-tracker.js";

interface OutgoingMethods extends Followed {
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  write(...args: unknown[]): boolean;
  end(...args: unknown[]): unknown;
}

interface IncomingMethods extends Followed {
  push(chunk: unknown, encoding?: BufferEncoding): boolean;
}

let isPatched = false;

/**
 * Watches the methods through which every body of HTTP/1.1 passes, on the prototypes that all messages share. So a
 * message gets no listeners, which an application could see; and one that is not followed costs a look at a property.
 */
export function patchMessages(): void {
  if (isPatched) return;
  isPatched = true;
  patchOutgoing(OutgoingMessage.prototype as unknown as OutgoingMethods);
  patchIncoming(IncomingMessage.prototype as unknown as IncomingMethods);
}

function patchOutgoing(prototype: OutgoingMethods): void {
  const { write, end } = prototype;

  prototype.write = function (...args) {
    const tracker = this[exchangeKey];
    if (tracker === undefined || this.writableEnded || this.destroyed) return Reflect.apply(write, this, args);
    const [chunk, encoding] = args;
    const callback = (typeof encoding === "function" ? encoding : args[2]) as WriteCallback | undefined;
    const onWritten = tracker.writing(chunk, encoding, callback);
    return Reflect.apply(write, this, onWritten === callback ? args : [chunk, encodingOf(encoding), onWritten]);
  };
  prototype.end = function (...args) {
    const tracker = this[exchangeKey];
    if (tracker === undefined || this.writableEnded || this.destroyed) return Reflect.apply(end, this, args);
    tracker.ending(args[0], args[1]);
    const result = Reflect.apply(end, this, args);
    if (this[exchangeKey] === tracker) tracker.ended(this as unknown as OutgoingMessage);
    return result;
  };
}

function patchIncoming(prototype: IncomingMethods): void {
  const { push } = prototype;

  prototype.push = function (chunk, encoding) {
    this[exchangeKey]?.received(this as unknown as IncomingMessage, chunk);
    return push.call(this, chunk, encoding);
  };
}

function encodingOf(encoding: unknown): unknown {
  return typeof encoding === "function" ? null : encoding;
}
