import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { publish } from "../diagnostics/channels.js";
import type { WireFacts } from "../diagnostics/facts.js";
import { answeredIdOf, cancelledIdOf, requestIdOf } from "./json-rpc.js";

/**
 * Tells what passes over a wire that all requests share. Each request of ours begins a stream, which succeeds with its
 * answer, and fails where it is called off or the wire ends.
 */
export interface JsonRpcStreams {
  /** A message is about to be written. */
  sending(message: JSONRPCMessage): void;
  /** A message was written. */
  sent(): void;
  received(message: JSONRPCMessage): void;
  /** The wire ended: no more answers come. */
  end(): void;
}

export function createJsonRpcStreams(wire: WireFacts): JsonRpcStreams {
  const open = new Set<RequestId>();
  return {
    sending(message) {
      const id = requestIdOf(message);
      if (id !== undefined) {
        if (open.has(id)) return;
        open.add(id);
        publish("wire:stream-started", wire);
        return;
      }
      const cancelled = cancelledIdOf(message);
      if (cancelled !== undefined && open.delete(cancelled)) publish("wire:stream-failed", wire);
    },
    sent() {
      publish("wire:message-sent", wire);
    },
    received(message) {
      publish("wire:message-received", wire);
      const id = answeredIdOf(message);
      if (id !== undefined && open.delete(id)) publish("wire:stream-succeeded", wire);
    },
    end() {
      for (const _ of open) publish("wire:stream-failed", wire);
      open.clear();
    },
  };
}
