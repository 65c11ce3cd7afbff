import type { Connection } from "@wirescope/tool-server";
import type { RpcErrorObject, RpcObject } from "@wirescope/tool-server/internal";
import type { ClientCall } from "./client-call.js";
import type { TraceFields } from "./trace-fields.js";

/** How a call ended. `tool-error`: the tool ran and reports a failure. `input`: it waits for the client. */
export interface CallEnding {
  readonly kind: "ok" | "tool-error" | "error" | "cancelled" | "input";
  readonly error: RpcErrorObject | undefined;
  readonly durationMs: number;
}

/** Observes calls. Errors that it throws are reported as defects, and do not affect the call. */
export interface CallObserver {
  started?(call: ClientCall): void;
  ended?(call: ClientCall, ending: CallEnding): void;
  /** Runs the handler of a call in a context, such as a span's. */
  within?<T>(call: ClientCall, work: () => T): T;
  /** A request is about to be sent to a server for a call. */
  forwarding?(call: ClientCall, request: ObservedRequest): RequestObserver | undefined;
}

export interface ObservedRequest {
  readonly connection: Pick<Connection, "info" | "server">;
  readonly method: string;
  /** With the server's own names. */
  readonly params: RpcObject;
}

export interface RequestObserver {
  /** The trace context for the server, instead of the client's. */
  readonly fields?: TraceFields | undefined;
  /** It is about to be sent, for the first time or again. */
  attempted(): void;
  succeeded(result: RpcObject): void;
  failed(error: unknown): void;
}

/** Combines several observers. `onDefect` is called with errors that they throw. */
export function joinObservers(
  observers: readonly CallObserver[],
  onDefect: (error: unknown) => void,
): Required<CallObserver> {
  const starting = observers.flatMap((observer) => observer.started?.bind(observer) ?? []);
  const ending = observers.flatMap((observer) => observer.ended?.bind(observer) ?? []);
  const guarded = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      onDefect(error);
      return undefined;
    }
  };
  const wrapping = observers.flatMap((observer) => observer.within?.bind(observer) ?? []);
  const forwardingObservers = observers.filter(({ forwarding }) => forwarding !== undefined);
  return {
    started(call) {
      for (const started of starting) guarded(() => started(call));
    },
    ended(call, callEnding) {
      for (const ended of ending) guarded(() => ended(call, callEnding));
    },
    within(call, work) {
      let run = work;
      for (const within of wrapping) {
        const inner = run;
        run = () => runWithin(within, call, inner, onDefect);
      }
      return run();
    },
    forwarding(call, request) {
      if (forwardingObservers.length === 0) return undefined;
      const found = forwardingObservers.flatMap(
        (observer) => guarded(() => observer.forwarding?.(call, request)) ?? [],
      );
      if (found.length === 0) return undefined;
      return {
        fields: found.find(({ fields }) => fields !== undefined)?.fields,
        attempted() {
          for (const one of found) guarded(() => one.attempted());
        },
        succeeded(result) {
          for (const one of found) guarded(() => one.succeeded(result));
        },
        failed(error) {
          for (const one of found) guarded(() => one.failed(error));
        },
      };
    },
  };
}

/** Runs the work once, also if the observer throws before or after it. */
function runWithin<T>(
  within: NonNullable<CallObserver["within"]>,
  call: ClientCall,
  work: () => T,
  onDefect: (error: unknown) => void,
): T {
  let done: { readonly value: T } | undefined;
  let thrown: { readonly error: unknown } | undefined;
  try {
    return within(call, () => {
      try {
        const value = work();
        done = { value };
        return value;
      } catch (error) {
        thrown = { error };
        throw error;
      }
    });
  } catch (error) {
    if (thrown !== undefined) throw thrown.error;
    onDefect(error);
    return done === undefined ? work() : done.value;
  }
}
