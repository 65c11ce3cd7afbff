import { ServerResponse } from "node:http";
import {
  encodeMessage,
  faultOf,
  type RequestId,
  RpcError,
  type RpcMessage,
  type RpcResponse,
  rpcCodes,
  statusOf,
} from "@wirescope/tool-server/internal";
import type { Outlet } from "../callers/outlet.js";
import type { EventStream, EventStreams } from "./event-streams.js";
import type { HttpRequest, HttpResponse } from "./http-exchange.js";

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

  respond(message: RpcResponse, status: number): void {
    if (!this.isOpen) return;
    if (this.#stream === undefined) {
      sendJson(this.#response, status, message);
      return;
    }
    this.#stream.respond(message);
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
  message: RpcResponse,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = encodeMessage(message);
  const bytes = Buffer.byteLength(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": bytes, ...headers });
  // What is ASCII is the same in both, and takes less time as the second.
  endWith(response, body, bytes > body.length ? "utf8" : "latin1");
}

/** Ends an answer with all of its body, which leaves in one write with the head. */
function endWith(response: HttpResponse, body: string, encoding: "utf8" | "latin1"): void {
  // An answer before which others are due has no socket yet.
  if (!(response instanceof ServerResponse) || response.socket === null) {
    response.end(body);
    return;
  }
  const { socket } = response;
  // As `end` alone does it, an empty text follows, and the two are gathered for the system at the cost of a microsecond.
  socket.cork();
  response.write(body, encoding);
  socket.uncork();
  response.end();
}

/** Refuses a request of HTTP, with an error of JSON-RPC that says why. What is left of its body is let go. */
export function refuse(
  request: HttpRequest,
  response: HttpResponse,
  error: unknown,
  id: RequestId | null = null,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const unread = "complete" in request && !request.complete ? request : undefined;
  // Whoever sends more than is wanted could keep the connection busy with it.
  const closing = unread?.httpVersionMajor === 1 ? { connection: "close" } : {};
  sendJson(response, statusOf(error), { jsonrpc: "2.0", id, error: faultOf(error) }, { ...headers, ...closing });
  unread?.resume();
}

/** What is refused for the sake of HTTP. */
export function httpError(status: number, message: string, code: number = rpcCodes.failed): RpcError {
  return new RpcError(code, message, { status });
}
