import type { BackOff, BackOffLimits } from "../../back-off.js";
import type { Clock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import type { HttpResponse } from "../../http/http-client.js";
import { answerLost, readForeign, statusFailure } from "./streamable-http-failures.js";
import { askForEvents, eventStream, type HttpSession, mediaTypeOf } from "./streamable-http-session.js";

/** A stream of events that ended before it had brought all. */
export interface BrokenStream {
  readonly lastEventId: string;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryMs: number | undefined;
  /** That of the request: a stream that opens and breaks at once does not reset it. */
  readonly backOff: BackOff;
  /** Whether the first attempt needs no delay. Default false. */
  readonly isImmediate?: boolean | undefined;
  readonly signal: AbortSignal;
  /** How it ended, as a clause. */
  readonly why: string;
}

/** How often in a row it may fail to come back. */
const maxFailures = 3;
/** The delays between attempts to open a stream of events again. */
export const streamBackOff: BackOffLimits = { firstMs: 500, maxMs: 10_000 };
/** The longest that a server may ask to wait, in milliseconds. */
const maxRetryMs = 300_000;

/** The rest of a stream of events. Waits, asks, and tries again a few times; rejects with CONNECTION_LOST, or the signal's reason. */
export async function resumeEvents(session: HttpSession, broken: BrokenStream): Promise<HttpResponse> {
  const { context } = session;
  const { lastEventId, retryMs, backOff, isImmediate = false, signal, why } = broken;
  context.report(context.info, "info", "A response broke off; it is asked for again, from the last event that came.");
  for (let failures = 0; ; ) {
    const delayMs = isImmediate && failures === 0 ? 0 : retryDelayMs(retryMs, backOff.ended());
    await pause(context.clock, delayMs, signal);
    const { response, failure } = await ask(session, lastEventId, signal);
    if (response !== undefined) {
      backOff.opened();
      return response;
    }
    failures += 1;
    if (failures === maxFailures || !isPassing(failure)) {
      throw answerLost(context, `${why}, and the rest of it could not be had (${failure.message})`, failure);
    }
  }
}

/**
 * How long to wait before a stream is opened again: as long as the server says, unless that is less than the first delay of
 * the backoff. `retry: 0` does not make a stream that breaks at once a loop.
 */
export function retryDelayMs(retryMs: number | undefined, backOffDelayMs: number): number {
  if (retryMs === undefined || retryMs < streamBackOff.firstMs) return backOffDelayMs;
  return Math.min(retryMs, maxRetryMs);
}

/** Resolves `delayMs` from now. Rejects with the signal's reason. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Whether a failure may be gone the next time. */
export function isPassing({ code, details: { status = 0 } }: ToolServerError): boolean {
  if (code === "SERVER_FAILED") return status === 429 || status >= 500;
  return code === "CONNECTION_LOST" || code === "SERVER_UNREACHABLE" || code === "CALL_TIMEOUT";
}

type Asked =
  | { readonly response: HttpResponse; readonly failure?: undefined }
  | { readonly response?: undefined; readonly failure: ToolServerError };

async function ask(session: HttpSession, lastEventId: string, signal: AbortSignal): Promise<Asked> {
  try {
    const response = await askForEvents(session, lastEventId, signal);
    if (response.status === 200 && mediaTypeOf(response) === eventStream) return { response };
    return { failure: statusFailure(session, await readForeign(response, session.context.clock), "GET") };
  } catch (error) {
    signal.throwIfAborted();
    if (!ToolServerError.is(error)) throw error;
    return { failure: error };
  }
}
