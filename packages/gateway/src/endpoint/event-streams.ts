import { encodeMessage, RpcError, type RpcMessage, type RpcResponse, rpcCodes } from "@wirescope/tool-server/internal";
import type { HttpResponse } from "./http-exchange.js";

/** Streams of events to clients, which are kept alive: what says nothing for long is cut by those in between. */
export interface EventStreams {
  readonly size: number;
  /** Begins a stream in an answer. */
  open(response: HttpResponse, headers?: Readonly<Record<string, string>>): EventStream;
  /** Ends all. */
  close(): void;
}

export interface EventStream {
  readonly isOpen: boolean;
  /**
   * Sends a notification or a request. Where too much waits for the client already, the one is lost; for the other it throws an
   * RpcError, as `encodeMessage` does.
   */
  send(message: RpcMessage): void;
  /** Sends an answer. Where too much waits already the stream breaks off, so that the client does not wait for it. */
  respond(message: RpcResponse): void;
  /** Sends an event of another type than a message. */
  sendEvent(type: string, data: string): void;
  end(): void;
}

const keepAliveMs = 15_000;

/** Bytes that may wait for a client that does not read. The listener bounds all clients together, and ends a stream that stays so. */
const maxUnreadBytes = 8 * 1024 * 1024;

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

export function createEventStreams(maxBytes: number = maxUnreadBytes): EventStreams {
  const open = new Set<HttpResponse>();

  const hasRoom = ({ writableLength }: HttpResponse): boolean => writableLength <= maxBytes;
  const write = (response: HttpResponse, text: string): void => {
    if (!response.writableEnded && !response.destroyed) response.write(text);
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
          const isTaken = hasRoom(response);
          if (!isTaken && "id" in message)
            throw new RpcError(rpcCodes.failed, "The client does not read what it gets.");
          const text = isTaken ? encodeMessage(message) : undefined;
          if (text !== undefined) write(response, `event: message\ndata: ${text}\n\n`);
        },
        respond(message) {
          if (hasRoom(response)) write(response, `event: message\ndata: ${encodeMessage(message)}\n\n`);
          else response.destroy();
        },
        sendEvent: (type, data) => write(response, `event: ${type}\ndata: ${data}\n\n`),
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
