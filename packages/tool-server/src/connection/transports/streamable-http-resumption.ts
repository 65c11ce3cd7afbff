import type { BackOff, BackOffLimits } from "../../back-off.js";
import { sleep } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { createEventStreamParser } from "../../http/event-stream.js";
import type { HttpResponse } from "../../http/http-client.js";
import type { RpcMessage } from "../rpc/json-rpc.js";
import { parseMessages } from "../rpc/message.js";
import { readUnexpected, responseLost, statusFailure, subjectOf } from "./response-failures.js";
import { eventStream, type HttpSession, mediaTypeOf, requestEvents } from "./streamable-http-session.js";

/** Where an event stream continues after it has ended. */
export interface StreamPosition {
  lastEventId: string | undefined;
  /** The delay that the server requests, in milliseconds. */
  retryMs: number | undefined;
}

/**
 * Reads an event stream to its end, and records its position. `onMessages` receives the messages of each event; undefined for one that
 * is no JSON-RPC message. Resolves with the error that ended it too early, if there was one; never rejects.
 */
export function readEvents(
  { context, room }: HttpSession,
  response: HttpResponse,
  position: StreamPosition,
  onMessages: (messages: readonly RpcMessage[] | undefined) => void,
  onEventId?: (id: string) => void,
): Promise<unknown> {
  const parser = createEventStreamParser({
    subject: subjectOf(context),
    limitBytes: context.limits.messageBytes,
    onRetry: (delayMs) => {
      position.retryMs = delayMs;
    },
    onEvent({ type, data, id }) {
      if (id !== undefined) position.lastEventId = id === "" ? undefined : id;
      if (id) onEventId?.(id);
      if (data !== "" && type === "message") onMessages(parseMessages(data));
    },
  });
  const read = response.read((chunk) => {
    parser.push(chunk);
    return room();
  });
  return read.catch((error: unknown) => error);
}

/** An event stream that ended before the response. */
export interface BrokenStream {
  readonly position: Readonly<StreamPosition>;
  /** The back-off of the request: a stream that opens and breaks at once does not reset it. */
  readonly backOff: BackOff;
  /** Whether the first attempt needs no delay. Default false. */
  readonly isImmediate?: boolean | undefined;
  readonly signal: AbortSignal;
  /** How the stream ended, as a clause. */
  readonly why: string;
}

/** The maximum number of consecutive failures. */
const maxFailures = 3;
/** The delays between attempts to reopen an event stream. */
export const streamBackOff: BackOffLimits = { firstMs: 500, maxMs: 10_000 };
/** The maximum delay that a server can request, in milliseconds. */
const maxRetryMs = 300_000;

/** Resumes an event stream after a delay, with a few retries. Rejects with CONNECTION_LOST, or the signal's reason. */
export async function resumeEvents(session: HttpSession, broken: BrokenStream): Promise<HttpResponse> {
  const { context } = session;
  const { position, backOff, isImmediate = false, signal, why } = broken;
  context.report(context.info, "info", "A response was cut off; resuming after the last event that was received.");
  for (let failures = 0; ; ) {
    const delayMs = isImmediate && failures === 0 ? 0 : retryDelayMs(position.retryMs, backOff.ended());
    await sleep(context.clock, delayMs, signal);
    const resumed = await tryToResume(session, position.lastEventId, signal);
    if (!ToolServerError.is(resumed)) {
      backOff.opened();
      return resumed;
    }
    failures += 1;
    if (failures === maxFailures || !isTemporary(resumed)) {
      throw responseLost(context, `${why}, and it could not be resumed (${resumed.message})`, resumed);
    }
  }
}

/**
 * The delay before a stream is reopened: the one that the server requests, unless it is less than the first delay of the
 * back-off, so that `retry: 0` with a stream that breaks at once does not cause a busy loop.
 */
export function retryDelayMs(retryMs: number | undefined, backOffDelayMs: number): number {
  if (retryMs === undefined || retryMs < streamBackOff.firstMs) return backOffDelayMs;
  return Math.min(retryMs, maxRetryMs);
}

export function isTemporary({ code, details: { status = 0 } }: ToolServerError): boolean {
  if (code === "SERVER_FAILED") return status === 429 || status >= 500;
  return code === "CONNECTION_LOST" || code === "SERVER_UNREACHABLE" || code === "CALL_TIMEOUT";
}

/** Resolves with the response, or with the reason why the stream was not resumed. */
async function tryToResume(
  session: HttpSession,
  lastEventId: string | undefined,
  signal: AbortSignal,
): Promise<HttpResponse | ToolServerError> {
  try {
    const response = await requestEvents(session, lastEventId, signal, false);
    if (response.status === 200 && mediaTypeOf(response) === eventStream) return response;
    return statusFailure(session.context, await readUnexpected(response, session.context.clock), "GET");
  } catch (error) {
    signal.throwIfAborted();
    if (!ToolServerError.is(error)) throw error;
    return error;
  }
}
