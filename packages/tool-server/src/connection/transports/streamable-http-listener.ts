import { createBackOff } from "../../back-off.js";
import { ToolServerError } from "../../errors.js";
import { createEventStreamParser } from "../../http/event-stream.js";
import type { HttpResponse } from "../../http/http-client.js";
import { parseMessages } from "../rpc/message.js";
import { readForeign, statusFailure, subjectOf } from "./streamable-http-failures.js";
import { isPassing, pause, retryDelayMs, streamBackOff } from "./streamable-http-resumption.js";
import { askForEvents, eventStream, type HttpSession, mediaTypeOf } from "./streamable-http-session.js";

/** How often in a row the stream may fail to open, before the server counts as gone. */
const maxFailures = 5;

export interface Listener {
  /** What concerns no request and ends the listening: the server is gone, or does not know the session. */
  readonly onLost: (failure: ToolServerError) => void;
  /** What concerns no request and ends nothing. */
  readonly onFailure: (failure: ToolServerError) => void;
  readonly signal: AbortSignal;
}

/**
 * Listens to what a server of the older era says on its own, by a stream of events that is opened again when it ends.
 * Resolves where there is nothing to listen to any more: the server has no such stream, which is fine, or is lost. Never rejects.
 */
export async function listenToServer(session: HttpSession, listener: Listener): Promise<void> {
  const { context } = session;
  const { clock, info, report } = context;
  const { signal, onLost, onFailure } = listener;
  const backOff = createBackOff(streamBackOff, clock);
  const state: ListenerState = { hasOpened: false, lastEventId: undefined, retryMs: undefined };
  let failures = 0;
  try {
    for (;;) {
      const failure = await hearStream(session, state, signal, backOff.opened);
      signal.throwIfAborted();
      if (failure === "none") {
        report(info, "info", "The server offers no stream of its own; it speaks only when it is asked.");
        return;
      }
      if (failure === undefined) {
        failures = 0;
      } else {
        failures += 1;
        if (failure.code === "SESSION_LOST") return onLost(failure);
        if (!isPassing(failure)) return onFailure(failure);
        if (failures === maxFailures) return failure.code === "SERVER_FAILED" ? onFailure(failure) : onLost(failure);
      }
      await pause(clock, retryDelayMs(state.retryMs, backOff.ended()), signal);
    }
  } catch (error) {
    if (!signal.aborted) onFailure(error as ToolServerError);
  }
}

interface ListenerState {
  /** Whether the stream opened before, in this session. */
  hasOpened: boolean;
  lastEventId: string | undefined;
  retryMs: number | undefined;
}

/** Opens the stream, and hears it to its end. Resolves with why it could not be opened; `none` where the server has none. */
async function hearStream(
  session: HttpSession,
  state: ListenerState,
  signal: AbortSignal,
  onOpened: () => void,
): Promise<ToolServerError | "none" | undefined> {
  const { context } = session;
  let response: HttpResponse;
  try {
    response = await askForEvents(session, state.lastEventId, signal);
  } catch (error) {
    if (ToolServerError.is(error)) return error;
    throw error;
  }
  const { status, socketInfo } = response;
  // Many servers route only POST and response 404 in place of 405. A session that has just begun is not lost by that: if it is,
  // the next POST says so.
  if (status === 405 || status === 501 || (status === 404 && (session.id === undefined || !state.hasOpened))) {
    response.discard();
    return "none";
  }
  if (status !== 200 || mediaTypeOf(response) !== eventStream) {
    return statusFailure(session, await readForeign(response, context.clock), "GET");
  }
  state.hasOpened = true;
  onOpened();
  const parser = createEventStreamParser({
    subject: subjectOf(context),
    limitBytes: context.limits.messageBytes,
    onRetry: (delayMs) => {
      state.retryMs = delayMs;
    },
    onEvent({ type, data, id }) {
      if (id !== undefined) state.lastEventId = id === "" ? undefined : id;
      if (data === "" || type !== "message") return;
      for (const message of parseMessages(data) ?? []) session.receive(message, socketInfo);
    },
  });
  try {
    await response.read((chunk) => {
      parser.push(chunk);
      return session.room();
    });
  } catch (error) {
    // How it ended does not matter: it is opened again.
    if (!ToolServerError.is(error, "CONNECTION_LOST")) throw error;
  }
  return undefined;
}
