import type { RequestId, RpcMessage } from "./json-rpc.js";

interface Listeners {
  onmessage?: ((message: RpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/** The messages for the SDK's client. */
export interface ClientQueue {
  readonly deliver: (message: RpcMessage) => void;
  /** Drops what waits for a request that the client has cancelled. */
  forget(id: RequestId): void;
}

/**
 * Creates a queue that delivers messages in order, and completes each notification before the next message: the SDK handles a
 * notification asynchronously, and would drop the progress of a request whose response arrives in the same read.
 */
export function createClientQueue(transport: Listeners): ClientQueue {
  let waiting: RpcMessage[] = [];
  let isSettling = false;
  const deliverNext = (message: RpcMessage): void => {
    try {
      transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error as Error);
    }
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
      deliverNext(next);
    }
  };
  return {
    deliver(message) {
      if (isSettling) waiting.push(message);
      else deliverNext(message);
    },
    forget(id) {
      waiting = waiting.filter((message) => requestIdIn(message) !== id);
    },
  };
}

/** The request of the client that a message responds to or reports progress of. */
function requestIdIn(message: RpcMessage): unknown {
  if (!("method" in message)) return message.id;
  return message.method === "notifications/progress" ? message.params?.progressToken : undefined;
}
