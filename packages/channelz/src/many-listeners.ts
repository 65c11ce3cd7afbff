/**
 * Turns off Node's warning about many listeners of one signal: a read of all objects has one for each call in progress. Does
 * nothing in browsers, which have no such warning.
 */
export function allowManyListeners(signal: AbortSignal): void {
  const events = globalThis.process?.getBuiltinModule?.("node:events");
  events?.setMaxListeners(0, signal);
}
