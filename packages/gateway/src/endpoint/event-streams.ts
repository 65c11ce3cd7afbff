import { TransientMap } from "@wirescope/tool-server";
import { encodeMessage } from "../rpc/encode-message.js";
import type { RpcAnswer, RpcMessage } from "../rpc/json-rpc.js";
import { RpcError, rpcCodes } from "../rpc/rpc-error.js";
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
  answer(message: RpcAnswer): void;
  /** Sends an event of another type than a message. */
  sendEvent(type: string, data: string): void;
  end(): void;
}

const keepAliveMs = 15_000;

/** What may wait for clients that do not read, in bytes. The listener ends a stream that stays so. */
export interface WaitingLimits {
  /** For one of them. */
  readonly each: number;
  /** For all of them; past that it is lost for those who do not keep up, and for no others. */
  readonly together: number;
  /** Who has no more than this waiting keeps up. */
  readonly keptUp: number;
}

const defaultLimits: WaitingLimits = { each: 8 * 1024 * 1024, together: 256 * 1024 * 1024, keptUp: 64 * 1024 };

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

export function createEventStreams(limits: WaitingLimits = defaultLimits): EventStreams {
  /** The streams, with what waited for each when that was last looked at. */
  const open = new TransientMap<HttpResponse, number>();
  let together = 0;

  const count = (response: HttpResponse, waiting: number): void => {
    const before = open.get(response);
    if (before === undefined || before === waiting) return;
    open.set(response, waiting);
    together += waiting - before;
  };
  const forget = (response: HttpResponse): void => {
    count(response, 0);
    open.delete(response);
  };
  const hasRoom = ({ writableLength }: HttpResponse): boolean =>
    writableLength <= limits.each && (together <= limits.together || writableLength <= limits.keptUp);
  const write = (response: HttpResponse, text: string): void => {
    if (response.writableEnded || response.destroyed) return;
    response.write(text);
    count(response, response.writableLength);
  };

  const timer = setInterval(() => {
    for (const response of [...open.keys()]) {
      const { writableLength } = response;
      if (writableLength === 0) write(response, ": keep-alive\n\n");
      else count(response, writableLength);
    }
  }, keepAliveMs);
  timer.unref();

  return {
    get size() {
      return open.size;
    },
    open(response, headers = {}) {
      response.writeHead(200, { ...streamHeaders, ...headers });
      response.flushHeaders?.();
      open.set(response, 0);
      response.on("drain", () => count(response, response.writableLength));
      response.once("close", () => forget(response));
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
        answer(message) {
          if (hasRoom(response)) write(response, `event: message\ndata: ${encodeMessage(message)}\n\n`);
          else response.destroy();
        },
        sendEvent: (type, data) => write(response, `event: ${type}\ndata: ${data}\n\n`),
        end() {
          forget(response);
          response.end();
        },
      };
    },
    close() {
      clearInterval(timer);
      for (const response of open.keys()) response.end();
      open.clear();
    },
  };
}
