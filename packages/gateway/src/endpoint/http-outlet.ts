import type { Outlet } from "../clients/outlet.js";
import { encodeMessage } from "../rpc/encode-message.js";
import type { RpcAnswer, RpcMessage } from "../rpc/json-rpc.js";
import type { EventStream, EventStreams, HttpResponse } from "./event-streams.js";

/** The answer to one request of HTTP: JSON, or a stream of events as soon as something comes before the answer. */
export function createHttpOutlet(response: HttpResponse, streams: EventStreams): Outlet {
  return new HttpOutlet(response, streams);
}

// A class, for one is made for every request.
class HttpOutlet implements Outlet {
  readonly #response: HttpResponse;
  readonly #streams: EventStreams;
  #stream: EventStream | undefined = undefined;

  constructor(response: HttpResponse, streams: EventStreams) {
    this.#response = response;
    this.#streams = streams;
  }

  get isOpen(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed;
  }

  send(message: RpcMessage): void {
    this.#stream ??= this.#streams.open(this.#response);
    this.#stream.send(message);
  }

  answer(message: RpcAnswer, status: number): void {
    if (!this.isOpen) return;
    if (this.#stream === undefined) {
      sendJson(this.#response, status, message);
      return;
    }
    this.#stream.answer(message);
    this.#stream.end();
  }

  end(): void {
    if (!this.isOpen) return;
    this.#stream ??= this.#streams.open(this.#response);
    this.#stream.end();
  }
}

/** Answers with a message as JSON. */
export function sendJson(
  response: HttpResponse,
  status: number,
  message: RpcAnswer,
  headers: Readonly<Record<string, string>> = {},
): void {
  // Head and body leave in one write where the body is a text.
  const body = encodeMessage(message);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
