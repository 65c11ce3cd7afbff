import type { UndiciRequest } from "./undici-messages.js";

/** Receives the bytes of bodies, for copies of undici that do not publish them. */
export interface ChunkListener {
  sent(request: UndiciRequest, chunk: unknown): void;
  received(request: UndiciRequest, chunk: unknown): void;
}

interface RequestMethods extends UndiciRequest {
  onBodySent?(chunk: unknown): unknown;
  onData?(chunk: unknown): unknown;
}

const seen = new WeakSet<object>();
let listener: ChunkListener | undefined;

/** Sets the listener; undefined for none, which costs a check per chunk. */
export function listenToChunks(to: ChunkListener | undefined): void {
  listener = to;
}

/**
 * Watches the bodies of all requests of the copy of undici that made this one, unless it publishes them itself. Versions 6, of
 * which Node 20 and 22 hold a copy, do not; their requests pass each chunk through two methods.
 */
export function watchChunks(request: UndiciRequest): void {
  const prototype = Object.getPrototypeOf(request) as RequestMethods;
  if (seen.has(prototype)) return;
  seen.add(prototype);
  const { onData, onBodySent } = prototype;
  if (typeof onData !== "function" || typeof onBodySent !== "function") return;
  if (Function.prototype.toString.call(onData).includes("bodyChunkReceived")) return;
  prototype.onData = function (this: UndiciRequest, chunk) {
    listener?.received(this, chunk);
    return onData.call(this as RequestMethods, chunk);
  };
  prototype.onBodySent = function (this: UndiciRequest, chunk) {
    listener?.sent(this, chunk);
    return onBodySent.call(this as RequestMethods, chunk);
  };
}
