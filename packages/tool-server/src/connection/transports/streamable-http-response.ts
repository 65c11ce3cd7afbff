import { isJSONRPCErrorResponse, isJSONRPCResultResponse } from "@modelcontextprotocol/client";
import { type BackOff, createBackOff } from "../../back-off.js";
import type { CallPhases } from "../../call-phases.js";
import { ToolServerError } from "../../errors.js";
import type { HttpResponse } from "../../http/http-client.js";
import { type RequestId, type RpcMessage, responseIdOf } from "../rpc/json-rpc.js";
import { fixResponse, parseMessages } from "../rpc/message.js";
import type { Post } from "./posts.js";
import { notAMessage, responseInvalid, responseLost } from "./response-failures.js";
import { readEvents, resumeEvents, type StreamPosition, streamBackOff } from "./streamable-http-resumption.js";
import type { HttpSession } from "./streamable-http-session.js";

/** A request whose response is being read. */
export interface OpenRequest {
  readonly id: RequestId;
  /** Aborted by the caller; cancelled after the response was received if the server does not end the stream. */
  readonly post: Pick<Post, "signal" | "throwIfAborted" | "giveUp">;
  /** Whether a response with any id belongs to this request, because it resumes a request of an earlier session. */
  readonly isReplayed?: boolean | undefined;
  readonly onEventId?: ((id: string) => void) | undefined;
  /** Receives the phases of the call. Default: nothing does. */
  readonly phases?: CallPhases | undefined;
}

/** How long a stream may stay open after the response, in milliseconds. */
const afterResponseMs = 5000;

/** Reads the response to a request from a JSON body. Throws if it is missing. */
export function readJsonResponse(
  session: HttpSession,
  response: HttpResponse,
  request: OpenRequest,
  text: string,
): void {
  const { context } = session;
  const messages = parseMessages(text);
  if (messages === undefined) throw notAMessage(context, text);
  let hasResponse = false;
  for (const message of messages) {
    if (receive(session, response, request, message)) hasResponse = true;
  }
  if (!hasResponse)
    throw responseInvalid(context, "responded with messages that do not include the response to the request");
}

/**
 * Reads the response to a request from an event stream. If the stream is cut off before the response and its events have ids,
 * it is resumed. Rejects with CONNECTION_LOST if the response is never received.
 */
export async function readEventResponse(
  session: HttpSession,
  first: HttpResponse,
  request: OpenRequest,
): Promise<void> {
  const { context } = session;
  const { clock } = context;
  const position: StreamPosition = { lastEventId: undefined, retryMs: undefined };
  let hasResponse = false;
  let stopTimer: (() => void) | undefined;
  let backOff: BackOff | undefined;
  let invalidEvents = 0;
  let response = first;
  const onMessages = (messages: readonly RpcMessage[] | undefined): void => {
    if (messages === undefined) {
      invalidEvents += 1;
      return;
    }
    for (const message of messages) {
      if (!receive(session, response, request, message)) continue;
      hasResponse = true;
      stopTimer ??= clock.after(afterResponseMs, () => request.post.giveUp("The response was received."));
    }
  };
  try {
    for (;;) {
      const broken = await readEvents(session, response, position, onMessages, request.onEventId);
      if (hasResponse) return;
      request.post.throwIfAborted();
      // A response that cannot be parsed would not improve by resuming.
      if (broken !== undefined && !ToolServerError.is(broken, "CONNECTION_LOST")) throw broken;
      const why = broken === undefined ? "ended the event stream before the response" : "cut off its response";
      const extra = invalidEvents === 0 ? "" : `, and sent ${invalidEvents} events that are not JSON-RPC messages`;
      if (position.lastEventId === undefined) throw responseLost(context, `${why}${extra}`, broken);
      backOff ??= createBackOff(streamBackOff, clock);
      response = await resumeEvents(session, { position, backOff, signal: request.post.signal, why });
    }
  } finally {
    stopTimer?.();
  }
}

/** Delivers a message. True if it is the response to the request. */
function receive(
  session: HttpSession,
  { socketInfo }: HttpResponse,
  request: OpenRequest,
  message: RpcMessage,
): boolean {
  if ("method" in message) {
    session.receive(message, socketInfo, request.id);
    return false;
  }
  const id = responseIdOf(message);
  // An error without an id comes from a server that could not parse the request, and can only belong to this one.
  const isOurs = id === request.id || request.isReplayed === true || (id == null && "error" in message);
  const response = fixResponse(isOurs && id !== request.id ? { ...message, id: request.id } : message);
  if (isOurs && !isValidResponse(response)) {
    throw responseInvalid(session.context, "responded to a request with an invalid JSON-RPC message");
  }
  session.receive(response, socketInfo);
  return isOurs;
}

/** Whether the SDK accepts a message as a response. */
function isValidResponse(message: RpcMessage): boolean {
  // Without _meta the SDK checks only the shape, which is already known; its schema would cost more than the parsing.
  if (!("method" in message) && message.result !== undefined && message.result._meta === undefined) return true;
  return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
}
