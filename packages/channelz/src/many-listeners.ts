/**
 * Turns off Node's warning about many listeners on one signal, because reading all objects adds one for each call in progress.
 * Does nothing in browsers.
 */
export function allowManyListeners(signal: AbortSignal): void {
  const events = globalThis.process?.getBuiltinModule?.("node:events");
  events?.setMaxListeners(0, signal);
}
