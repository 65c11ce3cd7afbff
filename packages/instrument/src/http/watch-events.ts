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
  const emit: Emit = function (this: EventEmitter, event: string | symbol): boolean {
    // biome-ignore lint/complexity/noArguments: passed on as they are, they cost no array an event
    const args = arguments;
    if (isOn) hear(event, args[1], args[2]);
    // Asked for each time, for others may patch the class after us.
    const inner: Emit = before?.value ?? Object.getPrototypeOf(emitter).emit;
    return inner.apply(this, args as unknown as [string]);
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
