import type { RpcMessage } from "../rpc/json-rpc.js";
import type { ToolMessageExtra, ToolTransport } from "./transport.js";
import { deliver } from "./transport-life.js";

/**
 * Hands messages to whoever listens to a transport, in order, and each notification before what follows it: the SDK handles
 * one a moment later than it gets it, and would drop the progress of a call whose response came in the same breath.
 */
export function createDelivery(
  transport: ToolTransport,
): (message: RpcMessage, extra?: ToolMessageExtra | undefined) => void {
  const waiting: [message: RpcMessage, extra: ToolMessageExtra | undefined][] = [];
  let isSettling = false;
  const hand = (message: RpcMessage, extra: ToolMessageExtra | undefined): void => {
    deliver(transport, message, extra);
    if (!("method" in message) || "id" in message) return;
    isSettling = true;
    // After all that its promises begin, and before the next event of the process.
    queueMicrotask(() => process.nextTick(settle));
  };
  const settle = (): void => {
    isSettling = false;
    while (!isSettling) {
      const next = waiting.shift();
      if (next === undefined) return;
      hand(...next);
    }
  };
  return (message, extra) => {
    if (isSettling) waiting.push([message, extra]);
    else hand(message, extra);
  };
}
