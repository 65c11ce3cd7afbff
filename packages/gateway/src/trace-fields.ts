import { metaOf, type RpcObject } from "@wirescope/tool-server/internal";

/**
 * The W3C trace context and baggage of a request. The names are those of the headers, and of the keys in `_meta` that MCP reserves
 * for them.
 */
export interface TraceFields {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** Which trace fields are read from clients and forwarded to servers. */
export type Propagator = "tracecontext" | "baggage";

export interface TraceFieldReader {
  /** The fields to forward: from `_meta`, or else from the headers. Undefined if the request has none. */
  read(params: RpcObject, headers: Fields | undefined): TraceFields | undefined;
  /** The trace context in the `_meta` or the headers of a request. */
  contextIn(source: Fields | undefined): TraceFields | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** The keys in `_meta` that the gateway sets itself. */
export const traceKeys = ["traceparent", "tracestate", "baggage"] as const;

/** The lengths that every implementation must support, in characters. */
const maxStateLength = 512;
const maxBaggageLength = 8192;

/** Version, trace, parent and flags. */
const parentForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?=$|-)/;
const parentLength = 55;
const printable = /^[\t\x20-\x7e]+$/;

/** Creates a reader for these propagators. It allocates nothing for a request without trace fields. */
export function createTraceFieldReader(propagators: readonly Propagator[]): TraceFieldReader {
  const hasContext = propagators.includes("tracecontext");
  const hasBaggage = propagators.includes("baggage");

  const contextIn = (source: Fields | undefined): TraceFields | undefined => {
    if (!hasContext || source?.traceparent === undefined) return undefined;
    const traceparent = parentOf(source.traceparent);
    if (traceparent === undefined) return undefined;
    const tracestate = headerText(source.tracestate, maxStateLength);
    return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
  };

  const baggageIn = (source: Fields | undefined): string | undefined =>
    hasBaggage && source?.baggage !== undefined ? headerText(source.baggage, maxBaggageLength) : undefined;

  return {
    contextIn,
    read(params, headers) {
      const meta = metaOf(params);
      const context = contextIn(meta) ?? contextIn(headers);
      const baggage = baggageIn(meta) ?? baggageIn(headers);
      return baggage === undefined ? context : { ...context, baggage };
    },
  };
}

/** A valid `traceparent`. Fields of future versions are dropped, as the specification requires. */
function parentOf(value: unknown): string | undefined {
  if (typeof value !== "string" || !parentForm.test(value)) return undefined;
  if (value.startsWith("00")) return value.length === parentLength ? value : undefined;
  return `00${value.slice(2, parentLength)}`;
}

/** A string that a header can contain, up to a maximum length; otherwise undefined. */
function headerText(value: unknown, maxLength: number): string | undefined {
  return typeof value === "string" && value.length <= maxLength && printable.test(value) ? value : undefined;
}
