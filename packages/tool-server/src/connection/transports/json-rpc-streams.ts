import type { SocketInfo } from "../../connection-info.js";
import { publisherOf } from "../../diagnostics.js";
import { InFlightSet } from "../../in-flight.js";
import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf, responseIdOf } from "../rpc/json-rpc.js";

/**
 * Publishes the traffic of a socket that all requests share. Each of our requests starts a stream, which succeeds with its
 * response and fails if it is cancelled or the socket closes.
 */
export interface JsonRpcStreams {
  /** Our requests that have no response yet. */
  readonly open: Pick<ReadonlySet<RequestId>, "size">;
  /** A message is about to be written. */
  sending(message: RpcMessage): void;
  /** Messages were written. Default: one. */
  sent(messages?: number): void;
  received(message: RpcMessage): void;
  /** The response to a request was received, but not kept, because it is too large. */
  skipped(id: RequestId): void;
  /** The socket closed: all open streams fail. */
  end(): void;
}

const [streamStarted, streamSucceeded, streamFailed, messageSent, messageReceived] = [
  publisherOf("socket:stream-started"),
  publisherOf("socket:stream-succeeded"),
  publisherOf("socket:stream-failed"),
  publisherOf("socket:message-sent"),
  publisherOf("socket:message-received"),
];

export function createJsonRpcStreams(socketInfo: SocketInfo): JsonRpcStreams {
  const open = new InFlightSet<RequestId>();
  const responded = (id: RequestId): void => {
    if (open.delete(id)) streamSucceeded(socketInfo);
  };
  return {
    open,
    sending(message) {
      const id = requestIdOf(message);
      if (id !== undefined) {
        if (open.has(id)) return;
        open.add(id);
        streamStarted(socketInfo);
        return;
      }
      const cancelled = cancelledIdOf(message);
      if (cancelled !== undefined && open.delete(cancelled)) streamFailed(socketInfo);
    },
    sent(messages = 1) {
      for (let left = messages; left > 0; left -= 1) messageSent(socketInfo);
    },
    received(message) {
      messageReceived(socketInfo);
      const id = responseIdOf(message);
      if (id !== undefined) responded(id);
    },
    skipped(id) {
      messageReceived(socketInfo);
      responded(id);
    },
    end() {
      for (const _ of open) streamFailed(socketInfo);
      open.clear();
    },
  };
}
