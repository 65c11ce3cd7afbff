import type { EventEmitter } from "node:events";

type Emit = EventEmitter["emit"];

/**
 * Hears the events of one emitter before its listeners do, without being one of them: to some events Node behaves otherwise
 * as soon as anybody listens, as with `upgrade`. Returns how to stop.
 */
export function watchEvents(
  emitter: EventEmitter,
  hear: (event: string | symbol, first: unknown, second: unknown) => void,
): () => void {
  const before = Object.getOwnPropertyDescriptor(emitter, "emit");
  let isOn = true;
  const emit: Emit = function (this: EventEmitter, event: string | symbol, ...args: unknown[]): boolean {
    if (isOn) hear(event, args[0], args[1]);
    // Asked for each time, for others may patch the class after us.
    const inner: Emit = before?.value ?? Object.getPrototypeOf(emitter).emit;
    return Reflect.apply(inner, this, [event, ...args]);
  };
  Object.defineProperty(emitter, "emit", { value: emit, configurable: true, writable: true, enumerable: false });
  return () => {
    isOn = false;
    // Another watcher may stand on top of this one; then this one stays in the chain, and does nothing.
    if (emitter.emit !== emit) return;
    if (before === undefined) Reflect.deleteProperty(emitter, "emit");
    else Object.defineProperty(emitter, "emit", before);
  };
}
