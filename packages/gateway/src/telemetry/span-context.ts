import { createTraceState, isSpanContextValid, type Span, type SpanContext } from "@opentelemetry/api";
import type { TraceFields } from "../trace-fields.js";

/** The place in a trace that a request named; undefined where it named none. */
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

/** What a server is told so that it stands below this span: the place of the span, and the baggage that came in. */
export function fieldsOf(span: Span, came: TraceFields | undefined): TraceFields | undefined {
  const place = span.spanContext();
  // A provider that makes no spans has no place to tell of; what came in goes on.
  if (!isSpanContextValid(place)) return came;
  const { traceId, spanId, traceFlags, traceState } = place;
  const tracestate = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    ...(tracestate ? { tracestate } : {}),
    ...(came?.baggage === undefined ? {} : { baggage: came.baggage }),
  };
}
