import {
  type Attributes,
  type Context,
  createTraceState,
  type Histogram,
  isSpanContextValid,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { ConnectionInfo } from "@wirescope/tool-server";
import type { ObservedRequest, RequestObserver } from "../../call-observer.js";
import type { TraceFields } from "../../trace-fields.js";
import { failureAttributes, serverAttributes, spanName, subjectAttributes } from "./attributes.js";
import type { CredentialSpans } from "./credential-spans.js";
import { endSpan, type RequestSpans } from "./request-spans.js";
import type { CallSpanParent } from "./span-parent.js";

export interface RequestTraceOptions {
  readonly tracer: Tracer | undefined;
  readonly clientDuration: Histogram<Attributes> | undefined;
  readonly requests: RequestSpans;
  readonly credentials: Pick<CredentialSpans, "link"> | undefined;
}

/** The call that a request to a server is sent for. */
export interface RequestOrigin {
  readonly context: Context;
  readonly parent: CallSpanParent;
  /** The trace fields that the client sent. */
  readonly received: TraceFields | undefined;
}

/** Starts the span of a request to a server. */
export function createRequestTrace(
  { tracer, clientDuration, requests, credentials }: RequestTraceOptions,
  { connection, method, params }: ObservedRequest,
  origin: RequestOrigin,
): RequestObserver {
  const { info } = connection;
  // The name is from a server's list, so the number of names is bounded.
  const subject = subjectAttributes(method, typeof params.name === "string" ? params.name : undefined);
  const attributes: Attributes = { "mcp.method.name": method, ...subject, ...cachedServerAttributes(info) };
  const startedAt = performance.now();
  const span = tracer?.startSpan(spanName(method, subject), { kind: SpanKind.CLIENT, attributes }, origin.context);
  const context = span === undefined ? origin.context : trace.setSpan(origin.context, span);
  origin.parent.enter(info, context);
  if (span !== undefined) {
    requests.add(info, span);
    credentials?.link(info, span);
  }
  let attempts = 0;

  const end = (outcome: Attributes): void => {
    const version = connection.server?.protocolVersion;
    const late = version === undefined ? outcome : { ...outcome, "mcp.protocol.version": version };
    const seconds = (performance.now() - startedAt) / 1000;
    clientDuration?.record(seconds, { ...attributes, ...late }, context);
    if (span === undefined) return;
    requests.remove(info, span);
    endSpan(span, late);
  };

  return {
    fields: span === undefined ? origin.received : fieldsOf(span, origin.received),
    attempted() {
      attempts += 1;
      if (attempts > 1) span?.addEvent("wirescope.sent_again");
    },
    succeeded: ({ isError }) => end(isError === true ? { "error.type": "tool_error" } : {}),
    failed: (error) => end(failureAttributes(error)),
  };
}

/** The span context that trace fields name; undefined if they name none. */
export function contextOf(fields: TraceFields | undefined): SpanContext | undefined {
  if (fields?.traceparent === undefined) return undefined;
  const { traceparent, tracestate } = fields;
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16),
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
}

/** The trace fields that make a server's spans children of this span, with the baggage that the client sent. */
function fieldsOf(span: Span, received: TraceFields | undefined): TraceFields | undefined {
  const spanContext = span.spanContext();
  // A provider that records no spans has no valid context: the client's fields are forwarded unchanged.
  if (!isSpanContextValid(spanContext)) return received;
  const { traceId, spanId, traceFlags, traceState } = spanContext;
  const tracestate = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    ...(tracestate ? { tracestate } : {}),
    ...(received?.baggage === undefined ? {} : { baggage: received.baggage }),
  };
}

const attributesByServer = new WeakMap<ConnectionInfo, Attributes>();

function cachedServerAttributes(info: ConnectionInfo): Attributes {
  let attributes = attributesByServer.get(info);
  if (attributes === undefined) {
    attributes = serverAttributes(info);
    attributesByServer.set(info, attributes);
  }
  return attributes;
}
