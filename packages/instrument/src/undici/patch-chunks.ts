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

/** Sets the listener; undefined for none. */
export function listenToChunks(newListener: ChunkListener | undefined): void {
  listener = newListener;
}

/**
 * Patches the copy of undici that created this request to report body chunks, unless it publishes them itself. undici 6, which is
 * also in Node 20 and 22, does not; there, each chunk passes through two methods of the request.
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
