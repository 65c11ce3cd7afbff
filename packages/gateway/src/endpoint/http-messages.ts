import { ServerResponse } from "node:http";
import {
  encodeMessage,
  errorObjectOf,
  type ParsedMessage,
  parseMessage,
  type RequestId,
  RpcError,
  type RpcMessage,
  type RpcResponse,
  rpcCodes,
  statusOf,
} from "@wirescope/tool-server/internal";
import type { MessageWriter } from "../callers/message-writer.js";
import type { EndpointContext } from "./endpoint-context.js";
import type { EventStream, EventStreams } from "./event-streams.js";
import {
  type EndpointRequest,
  type EndpointResponse,
  isDisconnected,
  isJson,
  readBody,
  sessionIdOf,
} from "./http-request.js";

/** The response to one HTTP request: JSON, or an event stream if a message is sent before the response. */
export class HttpResponseWriter implements MessageWriter {
  readonly #response: EndpointResponse;
  readonly #streams: EventStreams;
  #stream: EventStream | undefined = undefined;

  constructor(response: EndpointResponse, streams: EventStreams) {
    this.#response = response;
    this.#streams = streams;
  }

  get isOpen(): boolean {
    return !this.#response.writableEnded && !isDisconnected(this.#response);
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

export function sendJson(
  response: EndpointResponse,
  status: number,
  message: RpcResponse,
  more?: Readonly<Record<string, string>>,
): void {
  const body = encodeMessage(message);
  const bytes = Buffer.byteLength(body);
  const headers = { "content-type": "application/json", "content-length": bytes };
  response.writeHead(status, more === undefined ? headers : { ...headers, ...more });
  // ASCII is the same in both encodings, and latin1 is faster.
  endWith(response, body, bytes > body.length ? "utf8" : "latin1");
}

/** Ends a response with its whole body, in one write together with the headers. */
function endWith(response: EndpointResponse, body: string, encoding: "utf8" | "latin1"): void {
  // A pipelined response has no socket until the previous ones are sent.
  if (!(response instanceof ServerResponse) || response.socket === null) {
    response.end(body);
    return;
  }
  const { socket } = response;
  // `end(body)` alone would write an empty string after it, and gathering both costs a microsecond.
  socket.cork();
  response.write(body, encoding);
  socket.uncork();
  response.end();
}

/** Refuses an HTTP request with a JSON-RPC error. The rest of its body is discarded. */
export function refuse(
  request: EndpointRequest,
  response: EndpointResponse,
  error: unknown,
  id: RequestId | null = null,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || isDisconnected(response)) return;
  const unread = "complete" in request && !request.complete ? request : undefined;
  // A client that keeps sending could occupy the connection.
  const closing = unread?.httpVersionMajor === 1 ? { connection: "close" } : {};
  sendJson(response, statusOf(error), { jsonrpc: "2.0", id, error: errorObjectOf(error) }, { ...headers, ...closing });
  unread?.resume();
}

/** Refuses a request whose method the path does not have. */
export function refuseMethod(
  request: EndpointRequest,
  response: EndpointResponse,
  allow: string,
  advice: string = `Use ${allow}.`,
): void {
  refuse(request, response, httpError(405, `Method not allowed. ${advice}`), null, { allow });
}

/** Ends a request whose handler threw: with the error if it is one for the client; else it is a defect, and the status is 500. */
export function endFailed(
  { events }: Pick<EndpointContext, "events">,
  request: EndpointRequest,
  response: EndpointResponse,
  error: unknown,
  id: RequestId | null = null,
): void {
  events.reportIfDefect(error);
  refuse(request, response, error, id);
  if (!response.writableEnded) response.destroy();
}

/**
 * Reads the message in a POST request, and waits for its turn. Resolves with undefined if the request was refused: it is not JSON, exceeds the
 * limit, contains no message, or contains a request while the gateway is shutting down.
 */
export async function readMessage(
  context: EndpointContext,
  request: EndpointRequest,
  response: EndpointResponse,
): Promise<ParsedMessage | undefined> {
  const { limits, events, turns, sessions, requesterOf } = context;
  if (!isJson(request.headers["content-type"])) {
    refuse(request, response, httpError(415, "The content type must be application/json."));
    return undefined;
  }
  const text = await readBody(request, limits.messageBytes);
  if (text === undefined) {
    const reason = `The message exceeds the limit of ${limits.messageBytes} bytes.`;
    events.emit({ kind: "refused", limit: "message-bytes", reason });
    refuse(request, response, httpError(413, reason));
    return undefined;
  }
  const turn = turns.enter();
  if (turn !== undefined) {
    // A session whose request waits is not idle.
    const session = sessionIdOf(request.headers);
    if (session !== undefined) sessions.find(session, requesterOf(request).principal)?.touch();
    await turn;
  }
  const read = parseMessage(text);
  if (!("code" in read)) {
    // Responses and cancellations are still accepted: calls in flight may wait for them.
    if (read.kind !== "request" || !context.isClosing()) return read;
    refuse(request, response, shuttingDown(), read.message.id);
    return undefined;
  }
  refuse(request, response, httpError(400, read.message, read.code));
  return undefined;
}

/** The error for a request that arrives while the gateway is shutting down. */
export function shuttingDown(): RpcError {
  return httpError(503, "The gateway is shutting down.");
}

export function httpError(status: number, message: string, code: number = rpcCodes.failed): RpcError {
  return new RpcError(code, message, { status });
}
