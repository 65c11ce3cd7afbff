import { ServerResponse } from "node:http";
import type { Fallback } from "@wirescope/channelz";
import type { RpcMessage } from "../rpc/json-rpc.js";

/** The response of either version of HTTP. */
export type HttpResponse = Parameters<Fallback>[1];
export type HttpRequest = Parameters<Fallback>[0];

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
  send(message: RpcMessage): void;
  /** Sends an event of another type than a message. */
  sendEvent(type: string, data: string): void;
  end(): void;
}

const keepAliveMs = 15_000;

/** What may wait for a client that does not read, in bytes; what comes then is lost, and the listener ends it if it stays so. */
const mostWaiting = 8 * 1024 * 1024;

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

export function createEventStreams(): EventStreams {
  const open = new Set<HttpResponse>();
  const timer = setInterval(() => {
    for (const response of open) if (response.writableLength === 0) write(response, ": keep-alive\n\n");
  }, keepAliveMs);
  timer.unref();
  return {
    get size() {
      return open.size;
    },
    open(response, headers = {}) {
      response.writeHead(200, { ...streamHeaders, ...headers });
      // HTTP/2 has sent them by now.
      if (response instanceof ServerResponse) response.flushHeaders();
      open.add(response);
      response.once("close", () => open.delete(response));
      return {
        get isOpen() {
          return open.has(response) && !response.writableEnded;
        },
        send: (message) => write(response, `event: message\ndata: ${JSON.stringify(message)}\n\n`),
        sendEvent: (type, data) => write(response, `event: ${type}\ndata: ${data}\n\n`),
        end() {
          open.delete(response);
          response.end();
        },
      };
    },
    close() {
      clearInterval(timer);
      for (const response of open) response.end();
      open.clear();
    },
  };
}

function write(response: HttpResponse, text: string): void {
  if (response.writableEnded || response.destroyed || response.writableLength > mostWaiting) return;
  // The two versions of HTTP have it as overloads that do not meet.
  (response.write as (text: string) => boolean).call(response, text);
}
