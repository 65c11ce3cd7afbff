import type { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  type Link,
  type Span,
  SpanKind,
  trace,
} from "@opentelemetry/api";
import { metaOf } from "@wirescope/tool-server/internal";
import type { CallEnding, ObservedRequest, RequestObserver } from "../../call-observer.js";
import type { ClientCall } from "../../client-call.js";
import type { TraceFieldReader } from "../../trace-fields.js";
import {
  callerAttributes,
  codeAttributes,
  other,
  requestAttributes,
  spanName,
  subjectAttributes,
} from "./attributes.js";
import { endSpan } from "./request-spans.js";
import { contextOf, createRequestTrace, type RequestTraceOptions } from "./request-trace.js";
import { createSpanParent, type SpanParent } from "./span-parent.js";

export interface CallTrace {
  /** Runs the call's handler, so that spans that are started in it are children of the call's span. */
  run<T>(work: () => T): T;
  /** A request is sent to a server for the call. */
  forward(request: ObservedRequest): RequestObserver;
  end(ending: CallEnding): void;
}

export interface CallTraceOptions extends RequestTraceOptions {
  readonly serverDuration: Histogram<Attributes> | undefined;
  readonly reader: TraceFieldReader;
  readonly transport: "tcp" | "unix";
  /** Carries the span parent to work that is done for a call; undefined if no spans are recorded. */
  readonly spanParents: AsyncLocalStorage<SpanParent | undefined> | undefined;
}

/** Starts the span of a client's call, as a child of the span that the client names. */
export function createCallTrace(options: CallTraceOptions, call: ClientCall, ambient: Context): CallTrace {
  const method = call.isKnown ? call.method : undefined;
  const { tracer, serverDuration, transport, spanParents } = options;
  const common: Attributes = { "mcp.method.name": method ?? other, ...callerAttributes(call, transport) };
  let span: Span | undefined;
  let own = ambient;
  if (tracer !== undefined) {
    const { parent, links } = parentOf(options.reader, call, ambient);
    const attributes = { ...common, ...requestAttributes(call) };
    span = tracer.startSpan(method ?? other, { kind: SpanKind.SERVER, attributes, links }, parent);
    own = trace.setSpan(parent, span);
  }

  const spanParent = createSpanParent(own);
  const end = (ending: CallEnding): void => {
    spanParent.end();
    const outcome = endAttributes(method, call, ending);
    serverDuration?.record(ending.durationMs / 1000, { ...common, ...outcome }, own);
    if (span === undefined) return;
    span.updateName(spanName(method, outcome));
    endSpan(span, { ...outcome, "wirescope.outcome": ending.kind });
  };

  return {
    run: (work) => context.with(own, () => (spanParents === undefined ? work() : spanParents.run(spanParent, work))),
    forward: (request) =>
      createRequestTrace(options, request, { context: own, parent: spanParent, received: call.traceFields }),
    end,
  };
}

/**
 * The parent span of a request: the one in its `_meta`, which the client sets for this request; else the active span, which
 * already considers the headers; else the one in the headers. A candidate that is not the parent becomes a link.
 */
function parentOf(
  reader: TraceFieldReader,
  { params, headers }: ClientCall,
  ambient: Context,
): { readonly parent: Context; readonly links: Link[] } {
  const active = trace.getSpanContext(ambient);
  const inMeta = contextOf(reader.contextIn(metaOf(params)));
  const inHeaders = active === undefined ? contextOf(reader.contextIn(headers)) : undefined;
  const second = active ?? inHeaders;
  if (inMeta === undefined)
    return { parent: inHeaders === undefined ? ambient : trace.setSpanContext(ambient, inHeaders), links: [] };
  const isOther = second !== undefined && second.spanId !== inMeta.spanId;
  return { parent: trace.setSpanContext(ambient, inMeta), links: isOther ? [{ context: second }] : [] };
}

function endAttributes(
  method: string | undefined,
  { params: { name }, route }: ClientCall,
  { kind, error }: CallEnding,
): Attributes {
  // A call with a route names a tool, prompt or resource that exists.
  const known = typeof name !== "string" ? undefined : route === undefined ? other : name;
  return {
    ...subjectAttributes(method, known),
    ...(route === undefined ? {} : { "wirescope.server": route.server }),
    ...(kind === "tool-error" ? { "error.type": "tool_error" } : {}),
    ...(kind === "cancelled" ? { "error.type": "cancelled" } : {}),
    ...(kind === "error" && error !== undefined ? codeAttributes(error.code) : {}),
  };
}
