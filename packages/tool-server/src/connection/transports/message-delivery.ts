import type { RpcMessage } from "../rpc/json-rpc.js";
import type { ToolMessageExtra, ToolTransport } from "./transport.js";
import { deliver } from "./transport-life.js";

/**
 * Delivers the messages of a transport in order, and completes each notification before the next message: the SDK handles a
 * notification asynchronously, and would drop the progress of a call whose response arrives in the same read.
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
    // After all promise callbacks that it starts, and before the next I/O event.
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
