import { ToolServerError } from "@wirescope/tool-server";
import {
  faultOf,
  type JsonObject,
  RpcError,
  type RpcFault,
  rpcCodes,
  statusOf,
  TransientSet,
} from "@wirescope/tool-server/rpc";
import type { Teller } from "../events.js";
import type { Hub } from "../hub/hub.js";
import type { Metrics } from "../metrics.js";
import type { CallTrace, Telemetry } from "../telemetry/call-trace.js";
import type { TraceFieldReader } from "../telemetry/trace-fields.js";
import type { Caller, ClientAccount } from "./caller.js";

/** What a request came to. */
export type Outcome =
  | { readonly result: JsonObject; readonly fault?: undefined }
  | { readonly fault: RpcFault; readonly status: number; readonly result?: undefined };

/** Performs requests: within the limits of the client, counted and told. */
export interface Perform {
  /** Calls `done` once, with what it came to; a failure is an outcome. Not a promise: each costs every call. */
  (method: string, params: JsonObject, caller: Caller, done: (outcome: Outcome) => void): void;
  /** Counts a request that is answered elsewhere, such as `initialize`. Throws an RpcError if the client has reached a limit. */
  count(account: ClientAccount): void;
  /** Resolves when nothing is performed any more; at the latest then, having called off what still is. */
  idle(graceMs: number): Promise<void>;
}

export interface PerformOptions {
  readonly hub: Hub;
  readonly metrics: Metrics;
  readonly tell: Teller;
  /** Takes secrets out of words. */
  readonly redact: (text: string) => string;
  /** Whether arguments are told. */
  readonly tellsArguments: boolean;
  /** Reads what clients say of traces. */
  readonly traceFields: TraceFieldReader;
  readonly telemetry: Telemetry | undefined;
  /** Default: a call that failed is not made again. */
  readonly retry: RetryCall | undefined;
}

/** A call that failed. */
export interface FailedCall {
  readonly error: unknown;
  readonly method: string;
  readonly caller: Caller;
  /** When it began, by `performance.now()`. */
  readonly startedAt: number;
  /** Makes it again. */
  again(): Promise<JsonObject>;
}

/** Makes a call again once what it failed for is removed; undefined if that cannot be. Rejects with an RpcError or a ToolServerError. */
export type RetryCall = (call: FailedCall) => Promise<JsonObject> | undefined;

/** How much of a text of a client, or of a server, is told, in characters. */
const longestTold = 4096;

/** How long what was called off may take to end, in milliseconds. */
const lastMs = 1000;

export function createPerform(options: PerformOptions): Perform {
  const { hub, metrics, tell, redact, tellsArguments, traceFields, telemetry, retry } = options;
  const running = new TransientSet<Caller>();
  let onIdle: (() => void) | undefined;

  const finish = (method: string, params: JsonObject, caller: Caller, startedAt: number, outcome: Outcome): Outcome => {
    const durationMs = performance.now() - startedAt;
    const { result, fault } = outcome;
    const { server, name } = caller.story;
    const how =
      fault !== undefined
        ? isCalledOff(caller)
          ? "cancelled"
          : "error"
        : result?.isError === true
          ? "tool-error"
          : result?.resultType === "input_required"
            ? "input"
            : "ok";
    metrics.called(hub.has(method, caller.era) ? method : "unknown", server, how, durationMs);
    caller.story.trace?.end({ how, code: fault?.code, durationMs });
    if (!tell.isHeard) return outcome;
    tell({
      kind: "call",
      id: typeof caller.id === "string" ? shortened(caller.id) : caller.id,
      method: shortened(method),
      server,
      name: name === undefined ? undefined : shortened(redact(name)),
      client: caller.account.label,
      session: caller.session?.shortId,
      outcome: how,
      reason: fault === undefined ? undefined : shortened(redact(fault.message)),
      durationMs,
      ...(tellsArguments ? { arguments: params.arguments } : {}),
    });
    return outcome;
  };

  /** Lets a request in; returns the refusal if the client has reached a limit. */
  const admit = (account: ClientAccount): RpcError | undefined => {
    const full = account.enter();
    if (full === undefined) return undefined;
    const refusal = tooMuch(full);
    metrics.refused(`client-${full}`);
    tell({ kind: "refused", limit: `client-${full}`, reason: `${account.label}: ${refusal.message}` });
    return refusal;
  };

  /** Takes up what the client says of its trace. */
  const take = (method: string, params: JsonObject, caller: Caller): CallTrace | undefined => {
    const carried = traceFields.read(params, caller.headers);
    if (carried !== undefined) caller.story.carried = carried;
    if (telemetry === undefined) return undefined;
    const trace = telemetry.begin(hub.has(method, caller.era) ? method : undefined, params, caller);
    if (trace !== undefined) caller.story.trace = trace;
    return trace;
  };

  const perform = async (
    method: string,
    params: JsonObject,
    caller: Caller,
    done: (outcome: Outcome) => void,
  ): Promise<void> => {
    const { account } = caller;
    const startedAt = performance.now();
    const refusal = admit(account);
    if (refusal !== undefined) {
      done({ fault: faultOf(refusal), status: refusal.status });
      return;
    }
    metrics.started();
    running.add(caller);
    const trace = take(method, params, caller);
    let outcome: Outcome;
    try {
      let result: JsonObject;
      try {
        result = await (trace === undefined
          ? hub.perform(method, params, caller)
          : trace.run(() => hub.perform(method, params, caller)));
      } catch (error) {
        const again = (): Promise<JsonObject> => hub.perform(method, params, caller);
        const retried = retry?.({ error, method, caller, startedAt, again });
        if (retried === undefined) throw error;
        result = await retried;
      }
      outcome = finish(method, params, caller, startedAt, { result });
    } catch (error) {
      if (!(error instanceof RpcError) && !ToolServerError.is(error)) {
        tell({
          kind: "defect",
          reason: redact(error instanceof Error ? (error.stack ?? error.message) : String(error)),
        });
      }
      outcome = finish(method, params, caller, startedAt, { fault: faultOf(error), status: statusOf(error) });
    } finally {
      account.leave();
      metrics.ended();
      running.delete(caller);
      if (running.size === 0) onIdle?.();
    }
    done(outcome);
  };

  return Object.assign(perform, {
    count(account: ClientAccount) {
      const refusal = admit(account);
      if (refusal !== undefined) throw refusal;
      account.leave();
    },
    async idle(graceMs: number) {
      if (running.size === 0) return;
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      const timer = setTimeout(() => {
        for (const caller of running) caller.callOff.off(new RpcError(rpcCodes.failed, "The gateway stops."));
      }, graceMs);
      const last = new Promise<void>((resolve) => setTimeout(resolve, graceMs + lastMs).unref());
      await Promise.race([idle, last]);
      clearTimeout(timer);
    },
  });
}

/** Whether the client called the request off, so that it wants no answer. */
export function isCalledOff({ callOff }: Pick<Caller, "callOff">): boolean {
  return callOff.isOff && callOff.reason === undefined;
}

function shortened(text: string): string {
  return text.length > longestTold ? `${text.slice(0, longestTold)}…` : text;
}

function tooMuch(limit: "concurrency" | "rate"): RpcError {
  const what =
    limit === "concurrency" ? "This client has too many requests in flight." : "This client sends requests too fast.";
  return new RpcError(rpcCodes.failed, `${what} Wait for answers, and try again.`, {
    data: { reason: "OVERLOADED" },
    status: 429,
  });
}
