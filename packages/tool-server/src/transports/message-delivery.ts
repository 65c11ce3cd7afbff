import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { deliver } from "./transport-life.js";

/**
 * Hands messages to whoever listens to a transport, in order, and each notification before what follows it: the SDK handles
 * one a moment later than it gets it, and would drop the progress of a call whose answer came in the same breath.
 */
export function createDelivery(transport: Transport): (message: JSONRPCMessage) => void {
  const waiting: JSONRPCMessage[] = [];
  let isSettling = false;
  const hand = (message: JSONRPCMessage): void => {
    deliver(transport, message);
    if (!("method" in message) || "id" in message) return;
    isSettling = true;
    // After all that its promises begin, and before the next event of the process.
    queueMicrotask(() => process.nextTick(settle));
  };
  const settle = (): void => {
    isSettling = false;
    while (!isSettling) {
      const message = waiting.shift();
      if (message === undefined) return;
      hand(message);
    }
  };
  return (message) => {
    if (isSettling) waiting.push(message);
    else hand(message);
  };
}
