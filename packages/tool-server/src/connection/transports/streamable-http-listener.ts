import { createBackOff } from "../../back-off.js";
import { sleep } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import type { HttpResponse } from "../../http/http-client.js";
import { readUnexpected, statusFailure } from "./response-failures.js";
import { lossOf } from "./streamable-http-lost-session.js";
import {
  isTemporary,
  readEvents,
  retryDelayMs,
  type StreamPosition,
  streamBackOff,
} from "./streamable-http-resumption.js";
import { eventStream, type HttpSession, mediaTypeOf, requestEvents } from "./streamable-http-session.js";

/** The number of consecutive failures to open the stream after which the server is considered lost, or at least its stream to fail. */
const maxFailures = 5;

export interface Listener {
  /** The stream is open, but not at the first attempt: messages may have been lost before. */
  readonly onReopened: () => void;
  /** A failure that ends the stream for good: the server is gone, or does not know the session. */
  readonly onLost: (failure: ToolServerError) => void;
  /** Another failure, which does not end the session. */
  readonly onFailure: (failure: ToolServerError) => void;
  readonly signal: AbortSignal;
}

/**
 * Receives the messages that a server of the older era sends outside of requests, on an event stream that is reopened when it
 * ends. Resolves when the server offers no such stream, which is allowed, or is lost. Never rejects.
 */
export async function listenToServer(session: HttpSession, listener: Listener): Promise<void> {
  const { context } = session;
  const { clock, info, report } = context;
  const { signal, onReopened, onLost, onFailure } = listener;
  const backOff = createBackOff(streamBackOff, clock);
  const state: ListenerState = { hasOpened: false, lastEventId: undefined, retryMs: undefined };
  let failures = 0;
  let isFirst = true;
  const onOpened = (): void => {
    backOff.opened();
    if (!isFirst) onReopened();
  };
  try {
    for (;;) {
      const failure = await readStream(session, state, signal, onOpened);
      isFirst = false;
      signal.throwIfAborted();
      if (failure === "none") {
        report(info, "info", "The server offers no event stream of its own; it sends messages only in responses.");
        return;
      }
      if (failure === undefined) {
        failures = 0;
      } else {
        failures += 1;
        if (failure.code === "SESSION_LOST") return onLost(failure);
        if (!isTemporary(failure) && !(state.hasOpened && failure.code === "SERVER_FAILED")) return onFailure(failure);
        // A stream that was never open may be cut by a server that offers none.
        const isLost = failure.code === "SERVER_UNREACHABLE" || (state.hasOpened && failure.code !== "SERVER_FAILED");
        if (failures >= maxFailures && isLost) return onLost(failure);
        if (failures === maxFailures) {
          onFailure(failure);
          // A server that has had a stream will have one again, such as after its deployment.
          if (!state.hasOpened) return;
        }
      }
      await sleep(clock, retryDelayMs(state.retryMs, backOff.ended()), signal, true);
    }
  } catch (error) {
    if (!signal.aborted) onFailure(error as ToolServerError);
  }
}

interface ListenerState extends StreamPosition {
  /** Whether the stream was open before in this session. */
  hasOpened: boolean;
}

/** Opens the stream and reads it to its end. Resolves with the reason why it could not be opened; `none` if the server has none. */
async function readStream(
  session: HttpSession,
  state: ListenerState,
  signal: AbortSignal,
  onOpened: () => void,
): Promise<ToolServerError | "none" | undefined> {
  const { context } = session;
  let response: HttpResponse;
  try {
    response = await requestEvents(session, state.lastEventId, signal, true);
  } catch (error) {
    if (ToolServerError.is(error)) return error;
    throw error;
  }
  const { status, socketInfo } = response;
  // Many servers route only POST and return 404 or 400 instead of 405. That does not mean that a new session is lost: if it is,
  // the next POST reports it.
  if (status === 405 || status === 501 || ((status === 404 || status === 400) && !state.hasOpened)) {
    response.discard();
    return "none";
  }
  if (status !== 200 || mediaTypeOf(response) !== eventStream) {
    const unexpected = await readUnexpected(response, context.clock);
    return (await lossOf(session, unexpected)) ?? statusFailure(context, unexpected, "GET");
  }
  state.hasOpened = true;
  onOpened();
  const broken = await readEvents(session, response, state, (messages = []) => {
    for (const message of messages) session.receive(message, socketInfo);
  });
  // Why the connection was lost does not matter: the stream is reopened.
  if (broken !== undefined && !ToolServerError.is(broken, "CONNECTION_LOST")) throw broken;
  return undefined;
}
