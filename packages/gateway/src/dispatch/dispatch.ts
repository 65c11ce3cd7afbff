import {
  type CallOutcome,
  errorObjectOf,
  RpcError,
  type RpcObject,
  rpcCodes,
  statusOf,
} from "@wirescope/tool-server/internal";
import type { CallEnding, CallObserver } from "../call-observer.js";
import type { ClientAccount, ClientCall } from "../client-call.js";
import { clientMessage } from "../client-message.js";
import type { GatewayEvents } from "../events.js";
import type { TraceFieldReader } from "../trace-fields.js";
import type { MergedServer } from "./merged-server.js";

/** Runs calls within the limits of their clients, and settles them. */
export interface Dispatch {
  /** Handles a call, and settles it in every case. */
  (call: ClientCall): void;
  /** Counts a message that is no new call, such as `initialize`. Throws an RpcError if the client has reached a limit. */
  count(account: ClientAccount): void;
}

export interface DispatchOptions {
  readonly merged: Pick<MergedServer, "has" | "handle">;
  readonly observers: Required<CallObserver>;
  readonly events: Pick<GatewayEvents, "emit" | "reportDefect" | "reportIfDefect">;
  readonly traceFields: TraceFieldReader;
  /** Default: a call that failed is not dispatched again. */
  readonly retry: RetryCall | undefined;
  /** Whom users of clients ask about what only the operator can fix. */
  readonly contact: () => string | undefined;
}

/** How a call ended, for observers, and what the client gets. */
interface Ended {
  readonly outcome: CallOutcome;
  readonly response: CallOutcome;
}

export interface FailedCall {
  readonly error: unknown;
  readonly call: ClientCall;
  /** Dispatches it again. */
  again(): Promise<RpcObject>;
}

/**
 * Dispatches a call again once the cause of its failure is fixed; undefined if that is not possible. Rejects with an RpcError
 * or a ToolServerError.
 */
export type RetryCall = (failed: FailedCall) => Promise<RpcObject> | undefined;

export function createDispatch(options: DispatchOptions): Dispatch {
  const { merged, observers, events, traceFields, retry, contact } = options;

  const refused = (account: ClientAccount, limit: "concurrency" | "rate"): RpcError => {
    const refusal = limitReached(limit);
    events.emit({ kind: "refused", limit: `client-${limit}`, reason: `${account.label}: ${refusal.message}` });
    return refusal;
  };

  const failed = (failure: unknown, { era, reason }: ClientCall): Ended => {
    // The reason explains more than what failed because the call was cancelled.
    const cause = reason ?? failure;
    events.reportIfDefect(cause);
    const error = errorObjectOf(cause);
    const isUnknownResource = era === "modern" && error.code === rpcCodes.resourceNotFound;
    const outcome = {
      error: isUnknownResource ? { ...error, code: rpcCodes.invalidParams } : error,
      status: statusOf(cause),
    };
    const message = clientMessage(cause, contact());
    return { outcome, response: { ...outcome, error: { ...outcome.error, message } } };
  };

  const run = async (call: ClientCall): Promise<void> => {
    const handle = (): Promise<RpcObject> => observers.within(call, () => merged.handle(call));
    let ended: Ended;
    try {
      ended = succeeded(await handle());
    } catch (error) {
      try {
        const retried = retry?.({ error, call, again: handle });
        ended = retried === undefined ? failed(error, call) : succeeded(await retried);
      } catch (last) {
        ended = failed(last, call);
      }
    }
    const { outcome, response } = ended;
    const ending: CallEnding = {
      kind: kindOf(call, outcome),
      error: outcome.error,
      durationMs: performance.now() - call.startedAt,
    };
    // First, so that the client does not wait for the rest.
    settle(call, response);
    observers.ended(call, ending);
    call.account.remove(call);
  };

  /** Ends a call, and sends its response. What throws meanwhile is a defect, and the client gets a response all the same. */
  const settle = (call: ClientCall, outcome: CallOutcome): void => {
    succeeds(() => call.settle(outcome));
    if (!succeeds(() => call.respond(outcome))) succeeds(() => call.respond(internalError));
  };

  const succeeds = (work: () => void): boolean => {
    try {
      work();
      return true;
    } catch (error) {
      events.reportDefect(error);
      return false;
    }
  };

  const dispatch = (call: ClientCall): void => {
    const exceeded = call.account.add(call);
    if (exceeded !== undefined) {
      const refusal = refused(call.account, exceeded);
      settle(call, { error: errorObjectOf(refusal), status: refusal.status });
      return;
    }
    call.isKnown = merged.has(call.method, call.era);
    call.traceFields = traceFields.read(call.params, call.headers);
    observers.started(call);
    run(call).catch(events.reportDefect);
  };

  return Object.assign(dispatch, {
    count(account: ClientAccount) {
      const exceeded = account.count();
      if (exceeded !== undefined) throw refused(account, exceeded);
    },
  });
}

function succeeded(result: RpcObject): Ended {
  const outcome = { result };
  return { outcome, response: outcome };
}

const internalError: CallOutcome = { error: errorObjectOf(undefined), status: 500 };

function kindOf(call: ClientCall, { result, error }: CallOutcome): CallEnding["kind"] {
  if (error !== undefined) return call.isAbandoned ? "cancelled" : "error";
  if (result.isError === true) return "tool-error";
  return result.resultType === "input_required" ? "input" : "ok";
}

function limitReached(limit: "concurrency" | "rate"): RpcError {
  const problem =
    limit === "concurrency" ? "This client has too many requests in flight." : "This client sends requests too fast.";
  return new RpcError(rpcCodes.failed, `${problem} Wait for responses and try again.`, {
    data: { reason: "OVERLOADED" },
    status: 429,
  });
}
