import { publisherOf } from "../../diagnostics/channels.js";
import type { WireFacts } from "../../diagnostics/facts.js";
import { TransientSet } from "../../transient-map.js";
import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf, responseIdOf } from "../rpc/json-rpc.js";

/**
 * Tells what passes over a wire that all requests share. Each request of ours begins a stream, which succeeds with its
 * answer, and fails where it is called off or the wire ends.
 */
export interface JsonRpcStreams {
  /** A message is about to be written. */
  sending(message: RpcMessage): void;
  /** Messages were written. Default: one. */
  sent(messages?: number): void;
  received(message: RpcMessage): void;
  /** The wire ended: no more answers come. */
  end(): void;
}

const [streamStarted, streamSucceeded, streamFailed, messageSent, messageReceived] = [
  publisherOf("wire:stream-started"),
  publisherOf("wire:stream-succeeded"),
  publisherOf("wire:stream-failed"),
  publisherOf("wire:message-sent"),
  publisherOf("wire:message-received"),
];

export function createJsonRpcStreams(wire: WireFacts): JsonRpcStreams {
  const open = new TransientSet<RequestId>();
  return {
    sending(message) {
      const id = requestIdOf(message);
      if (id !== undefined) {
        if (open.has(id)) return;
        open.add(id);
        streamStarted(wire);
        return;
      }
      const cancelled = cancelledIdOf(message);
      if (cancelled !== undefined && open.delete(cancelled)) streamFailed(wire);
    },
    sent(messages = 1) {
      for (let left = messages; left > 0; left -= 1) messageSent(wire);
    },
    received(message) {
      messageReceived(wire);
      const id = responseIdOf(message);
      if (id !== undefined && open.delete(id)) streamSucceeded(wire);
    },
    end() {
      for (const _ of open) streamFailed(wire);
      open.clear();
    },
  };
}
