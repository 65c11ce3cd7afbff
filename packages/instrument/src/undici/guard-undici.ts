import { guardListener } from "../guard-listener.js";

/** `guardListener` for undici. */
export function guardUndici<A extends unknown[]>(listener: (...args: A) => void): (...args: A) => void {
  return guardListener(
    listener,
    "An undici request is not shown in Channelz. Report this message with your undici version.",
  );
}
