import { encodeMessage, RpcError, type RpcMessage, type RpcResponse, rpcCodes } from "@wirescope/tool-server/internal";
import { type EndpointResponse, isDisconnected } from "./http-request.js";

/** Event streams to clients, with keep-alive comments, because proxies close silent connections. */
export interface EventStreams {
  readonly size: number;
  /** Starts a stream in a response. */
  open(response: EndpointResponse, headers?: Readonly<Record<string, string>>): EventStream;
  /** Ends all. */
  close(): void;
}

export interface EventStream {
  readonly isOpen: boolean;
  /**
   * Sends a notification or a request. If the client's backlog is full, a notification is dropped and a request throws an
   * RpcError, as `encodeMessage` does.
   */
  send(message: RpcMessage): void;
  /** Sends a response. If the client's backlog is full, the stream is destroyed, so that the client does not wait for it. */
  respond(message: RpcResponse): void;
  end(): void;
}

const keepAliveMs = 15_000;

/** Buffered bytes for a client that does not read. The listener limits all clients together, and closes a stream that stays full. */
const maxUnreadBytes = 8 * 1024 * 1024;

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

export function createEventStreams(maxBytes: number = maxUnreadBytes): EventStreams {
  const open = new Set<EndpointResponse>();

  const hasRoom = ({ writableLength }: EndpointResponse): boolean => writableLength <= maxBytes;
  const write = (response: EndpointResponse, text: string): void => {
    if (!response.writableEnded && !isDisconnected(response)) response.write(text);
  };

  const timer = setInterval(() => {
    for (const response of [...open]) if (response.writableLength === 0) write(response, ": keep-alive\n\n");
  }, keepAliveMs);
  timer.unref();

  return {
    get size() {
      return open.size;
    },
    open(response, headers = {}) {
      response.writeHead(200, { ...streamHeaders, ...headers });
      response.flushHeaders?.();
      open.add(response);
      response.once("close", () => open.delete(response));
      return {
        get isOpen() {
          return open.has(response) && !response.writableEnded;
        },
        send(message) {
          const isAccepted = hasRoom(response);
          if (!isAccepted && "id" in message)
            throw new RpcError(rpcCodes.failed, "The client does not read its event stream.");
          const text = isAccepted ? encodeMessage(message) : undefined;
          if (text !== undefined) write(response, `event: message\ndata: ${text}\n\n`);
        },
        respond(message) {
          if (hasRoom(response)) write(response, `event: message\ndata: ${encodeMessage(message)}\n\n`);
          else response.destroy();
        },
        end() {
          open.delete(response);
          response.end();
        },
      };
    },
    close() {
      clearInterval(timer);
      for (const response of [...open]) response.end();
      open.clear();
    },
  };
}
