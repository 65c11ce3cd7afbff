import { isJSONRPCErrorResponse, isJSONRPCResultResponse } from "@modelcontextprotocol/client";
import { type BackOff, createBackOff } from "../../back-off.js";
import { ToolServerError } from "../../errors.js";
import { createEventStreamParser } from "../../http/event-stream.js";
import type { HttpResponse } from "../../http/http-client.js";
import { type RequestId, type RpcMessage, responseIdOf } from "../rpc/json-rpc.js";
import { fixResponse, parseMessages } from "../rpc/message.js";
import { answerLost, notAMessage, responseInvalid, subjectOf } from "./streamable-http-failures.js";
import type { Post } from "./streamable-http-posts.js";
import { resumeEvents, streamBackOff } from "./streamable-http-resumption.js";
import type { HttpSession } from "./streamable-http-session.js";

/** A request whose response is read. */
export interface OpenRequest {
  readonly id: RequestId;
  /** Aborted where nobody waits for the response any more; cancelled once the response has come and the server does not end it. */
  readonly post: Pick<Post, "signal" | "throwIfAborted" | "giveUp">;
  /** Whether any response is the one to this request, under another id: it is heard again after an earlier session. */
  readonly isReplayed?: boolean | undefined;
  readonly onEventId?: ((id: string) => void) | undefined;
}

/** How long a stream may stay open after it has brought the response, in milliseconds. */
const afterResponseMs = 5000;

/** Reads the response of a request in a text of JSON. Throws where it is not there. */
export function readJsonAnswer(session: HttpSession, response: HttpResponse, request: OpenRequest, text: string): void {
  const { context } = session;
  const messages = parseMessages(text);
  if (messages === undefined) throw notAMessage(context, text);
  let hasResponse = false;
  for (const message of messages) {
    if (take(session, response, request, message)) hasResponse = true;
  }
  if (!hasResponse)
    throw responseInvalid(context, "answered a request with messages of which none is the response to it");
}

/**
 * Reads the response of a request as events; where the stream breaks off before it came, and its events have ids, comes back
 * for the rest. Rejects with CONNECTION_LOST where the response never comes.
 */
export async function readEventAnswer(session: HttpSession, first: HttpResponse, request: OpenRequest): Promise<void> {
  const { context } = session;
  const { clock, limits } = context;
  let hasResponse = false;
  let cancel: (() => void) | undefined;
  let lastEventId: string | undefined;
  let retryMs: number | undefined;
  let backOff: BackOff | undefined;
  let strays = 0;
  let response = first;
  const parser = () =>
    createEventStreamParser({
      subject: subjectOf(context),
      limitBytes: limits.messageBytes,
      onRetry: (delayMs) => {
        retryMs = delayMs;
      },
      onEvent({ type, data, id }) {
        if (id !== undefined) {
          lastEventId = id === "" ? undefined : id;
          if (id !== "") request.onEventId?.(id);
        }
        if (data === "" || type !== "message") return;
        const messages = parseMessages(data);
        if (messages === undefined) {
          strays += 1;
          return;
        }
        for (const message of messages) {
          if (!take(session, response, request, message)) continue;
          hasResponse = true;
          cancel ??= clock.after(afterResponseMs, () => request.post.giveUp("The response has come."));
        }
      },
    });
  try {
    for (;;) {
      const events = parser();
      const broken = await response
        .read((chunk) => {
          events.push(chunk);
          return session.room();
        })
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      if (hasResponse) return;
      request.post.throwIfAborted();
      // What cannot be read will not be read better the next time.
      if (broken !== undefined && !ToolServerError.is(broken, "CONNECTION_LOST")) throw broken;
      const why =
        broken === undefined ? "ended the stream of its response before the response came" : "broke off its response";
      const odd = strays === 0 ? "" : `, and sent ${strays} events that are no messages of JSON-RPC`;
      if (lastEventId === undefined) throw answerLost(context, `${why}${odd}`, broken);
      backOff ??= createBackOff(streamBackOff, clock);
      response = await resumeEvents(session, { lastEventId, retryMs, backOff, signal: request.post.signal, why });
    }
  } finally {
    cancel?.();
  }
}

/** Hands a message on. True where it is the response to the request. */
function take(session: HttpSession, { socketInfo }: HttpResponse, request: OpenRequest, message: RpcMessage): boolean {
  if ("method" in message) {
    session.receive(message, socketInfo, request.id);
    return false;
  }
  const id = responseIdOf(message);
  // An error without an id is that of a server which could not read the request; here it can be of no other.
  const isOurs = id === request.id || request.isReplayed === true || (id == null && "error" in message);
  const response = fixResponse(isOurs && id !== request.id ? { ...message, id: request.id } : message);
  if (isOurs && !isAnswer(response)) {
    throw responseInvalid(session.context, "answered a request with a message that is not one of JSON-RPC");
  }
  session.receive(response, socketInfo);
  return isOurs;
}

/** Whether the SDK takes a message as a response. */
function isAnswer(message: RpcMessage): boolean {
  // Where there is no _meta the form is all that it looks at, and that was seen to; its schema costs more than the parsing did.
  if (!("method" in message) && message.result !== undefined && message.result._meta === undefined) return true;
  return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
}
