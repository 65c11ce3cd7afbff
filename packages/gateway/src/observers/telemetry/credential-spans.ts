import type { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  type Histogram,
  ROOT_CONTEXT,
  type Span,
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
import { endSpan, guarded, type RequestSpans } from "./request-spans.js";
import { createSpanParent, type SpanParent } from "./span-parent.js";

/** Records each refresh, sign-in and helper run as a span and a duration. */
export interface CredentialSpans {
  /** Links a new request to the operations in progress that it may have to wait for. */
  link(info: ConnectionInfo, request: Span): void;
  close(): void;
}

export interface CredentialSpansOptions {
  /** Undefined if no spans are recorded. */
  readonly spans:
    | {
        readonly tracer: Tracer;
        readonly spanParents: AsyncLocalStorage<SpanParent | undefined>;
        readonly requests: RequestSpans;
      }
    | undefined;
  readonly duration: Histogram<Attributes> | undefined;
  /** Whether a server is one of those whose operations are recorded. */
  readonly hasServer: (name: string) => boolean;
  readonly onDefect: (error: unknown) => void;
}

interface Recorded {
  readonly span: Span;
  readonly context: Context;
  readonly parent: SpanParent;
}

/** Operations that requests may have to wait for; all others are parts of these, or of a single request. */
const shared: ReadonlySet<CredentialOperationKind> = new Set<CredentialOperationKind>(["refresh", "sign-in", "helper"]);

export function createCredentialSpans({
  spans,
  duration,
  hasServer,
  onDefect,
}: CredentialSpansOptions): CredentialSpans {
  const recorded = new Map<CredentialOperation, Recorded>();

  /** Starts the span of an operation; returns the parent of spans that are started within it. */
  const start = (operation: CredentialOperation): SpanParent | undefined => {
    if (spans === undefined) return undefined;
    const { tracer, spanParents, requests } = spans;
    const { subject, kind } = operation;
    const outer = spanParents.getStore();
    if (!hasServer(subject.name)) return outer;
    const parentContext = outer?.contextFor(subject) ?? ROOT_CONTEXT;
    const attributes = { ...serverAttributes(subject), ...operationAttributes(operation) };
    const span = tracer.startSpan(`wirescope.${kind.replace("-", "_")}`, { attributes }, parentContext);
    const context = trace.setSpan(parentContext, span);
    const parent = createSpanParent(context);
    recorded.set(operation, { span, context, parent });
    if (!shared.has(kind)) return parent;
    const parentId = trace.getSpanContext(parentContext)?.spanId;
    for (const request of requests.of(subject)) {
      request.addEvent("wirescope.credential.started", operationAttributes(operation));
      // The request that triggered it is its parent, and needs no link.
      if (request.spanContext().spanId !== parentId) request.addLink({ context: span.spanContext() });
    }
    return parent;
  };

  const end = (ending: CredentialEnding): void => {
    const { operation, durationMs } = ending;
    const { subject, kind } = operation;
    if (!hasServer(subject.name)) return;
    const outcome = outcomeAttributes(ending);
    const about = operationAttributes(operation);
    const found = recorded.get(operation);
    const at = { "wirescope.server": subject.name, ...about, ...outcome };
    duration?.record(durationMs / 1000, at, found?.context ?? ROOT_CONTEXT);
    if (found === undefined) return;
    recorded.delete(operation);
    if (shared.has(kind)) {
      for (const request of spans?.requests.of(subject) ?? []) {
        request.addEvent("wirescope.credential.ended", { ...about, ...outcome });
      }
    }
    finish(found, outcome);
  };

  const finish = ({ span, parent }: Recorded, outcome: Attributes): void => {
    parent.end();
    endSpan(span, outcome);
  };

  const { "credential:started": started, "credential:ended": ended } = channels;
  const onEnded = (message: unknown): void => guarded(onDefect, () => end(message as CredentialEnding));
  if (spans !== undefined) {
    started.bindStore(spans.spanParents, (message) => guarded(onDefect, () => start(message as CredentialOperation)));
  }
  ended.subscribe(onEnded);
  return {
    link(info, request) {
      for (const [{ subject, kind }, { span }] of recorded) {
        if (subject === info && shared.has(kind)) request.addLink({ context: span.spanContext() });
      }
    },
    close() {
      ended.unsubscribe(onEnded);
      if (spans !== undefined) started.unbindStore(spans.spanParents);
      for (const one of recorded.values()) guarded(onDefect, () => finish(one, {}));
      recorded.clear();
    },
  };
}
