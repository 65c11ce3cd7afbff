import type { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  type Histogram,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import {
  type ConnectionInfo,
  type CredentialEnding,
  type CredentialOperation,
  type CredentialOperationKind,
  channels,
} from "@wirescope/tool-server";
import { operationAttributes, outcomeAttributes, serverAttributes } from "./attributes.js";
import { createPlace, type Place } from "./place.js";
import type { RequestSpans } from "./request-spans.js";
import { safely } from "./safely.js";

/** Follows what is done for credentials: each refresh, sign-in and run of a helper is a span and a duration. */
export interface CredentialWatch {
  /** Follows what is done for servers of these names. */
  watch(hasServer: (name: string) => boolean): void;
  /** Links a request that begins to what is done for its connection meanwhile. */
  join(info: ConnectionInfo, request: Span): void;
  close(): void;
}

export interface CredentialWatchOptions {
  /** Undefined where nobody takes spans. */
  readonly spans:
    | {
        readonly tracer: Tracer;
        readonly places: AsyncLocalStorage<Place | undefined>;
        readonly requests: RequestSpans;
      }
    | undefined;
  readonly duration: Histogram<Attributes> | undefined;
}

interface Followed {
  readonly span: Span;
  readonly context: Context;
  readonly place: Place;
}

/** What requests may have to wait for; the others are parts of these, or of one request alone. */
const shared: ReadonlySet<CredentialOperationKind> = new Set<CredentialOperationKind>(["refresh", "sign-in", "helper"]);

export function watchCredentials({ spans, duration }: CredentialWatchOptions): CredentialWatch {
  const followed = new Map<CredentialOperation, Followed>();
  let hasServer = (_: string): boolean => false;

  /** Begins the span of an operation, and gives the place that what is done in it has. */
  const begin = (operation: CredentialOperation): Place | undefined => {
    if (spans === undefined) return undefined;
    const { tracer, places, requests } = spans;
    const { subject, kind } = operation;
    const above = places.getStore();
    if (!hasServer(subject.name)) return above;
    const parent = above?.contextFor(subject) ?? ROOT_CONTEXT;
    const attributes = { ...serverAttributes(subject), ...operationAttributes(operation) };
    const span = tracer.startSpan(`wirescope.${kind.replace("-", "_")}`, { attributes }, parent);
    const context = trace.setSpan(parent, span);
    const place = createPlace(context);
    followed.set(operation, { span, context, place });
    if (!shared.has(kind)) return place;
    const own = trace.getSpanContext(parent)?.spanId;
    for (const request of requests.of(subject)) {
      request.addEvent("wirescope.credential.started", operationAttributes(operation));
      // Below the request that it is done for it is found anyway.
      if (request.spanContext().spanId !== own) request.addLink({ context: span.spanContext() });
    }
    return place;
  };

  const end = (ending: CredentialEnding): void => {
    const { operation, durationMs } = ending;
    const { subject, kind } = operation;
    if (!hasServer(subject.name)) return;
    const told = outcomeAttributes(ending);
    const about = operationAttributes(operation);
    const found = followed.get(operation);
    const at = { "wirescope.server": subject.name, ...about, ...told };
    duration?.record(durationMs / 1000, at, found?.context ?? ROOT_CONTEXT);
    if (found === undefined) return;
    followed.delete(operation);
    if (shared.has(kind)) {
      for (const request of spans?.requests.of(subject) ?? []) {
        request.addEvent("wirescope.credential.ended", { ...about, ...told });
      }
    }
    finish(found, told);
  };

  const finish = ({ span, place }: Followed, told: Attributes): void => {
    place.leave();
    span.setAttributes(told);
    if (told["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };

  const { "credential:started": started, "credential:ended": ended } = channels;
  const onEnded = (message: unknown): void => safely(() => end(message as CredentialEnding));
  if (spans !== undefined) {
    started.bindStore(spans.places, (message) => safely(() => begin(message as CredentialOperation)));
  }
  ended.subscribe(onEnded);
  return {
    watch(isOurs) {
      hasServer = isOurs;
    },
    join(info, request) {
      for (const [{ subject, kind }, { span }] of followed) {
        if (subject === info && shared.has(kind)) request.addLink({ context: span.spanContext() });
      }
    },
    close() {
      ended.unsubscribe(onEnded);
      if (spans !== undefined) started.unbindStore(spans.places);
      for (const one of followed.values()) safely(() => finish(one, {}));
      followed.clear();
    },
  };
}
