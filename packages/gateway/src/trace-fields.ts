import { type JsonObject, metaOf } from "@wirescope/tool-server/internal";

/**
 * Where a request stands in a trace, in the words of W3C. The names are those of headers, and of the keys in `_meta` that the
 * protocol keeps for them.
 */
export interface TraceFields {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** What is taken from clients and passed on to servers: where a request stands in a trace, and what was put beside that. */
export type Propagator = "tracecontext" | "baggage";

/** Reads what requests of clients say of traces. */
export interface TraceFieldReader {
  /** What is passed on of it: as `_meta` says, or else as the headers do. Undefined where there is nothing. */
  read(params: JsonObject, headers: Fields | undefined): TraceFields | undefined;
  /** The trace that the `_meta`, or the headers, of a request name. */
  contextIn(source: Fields | undefined): TraceFields | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** The keys in `_meta` that a gateway sees to itself. */
export const traceKeys = ["traceparent", "tracestate", "baggage"] as const;

/** As much as everybody must be able to take, in characters. */
const longestState = 512;
const longestBaggage = 8192;

/** Version, trace, parent and flags. */
const parentForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?=$|-)/;
const parentLength = 55;
const printable = /^[\t\x20-\x7e]+$/;

/** Makes a reader of what these propagators are about. Allocates nothing where a request says nothing. */
export function createTraceFieldReader(propagators: readonly Propagator[]): TraceFieldReader {
  const hasContext = propagators.includes("tracecontext");
  const hasBaggage = propagators.includes("baggage");

  const contextIn = (source: Fields | undefined): TraceFields | undefined => {
    if (!hasContext || source?.traceparent === undefined) return undefined;
    const traceparent = parentOf(source.traceparent);
    if (traceparent === undefined) return undefined;
    const tracestate = headerText(source.tracestate, longestState);
    return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
  };

  const baggageIn = (source: Fields | undefined): string | undefined =>
    hasBaggage && source?.baggage !== undefined ? headerText(source.baggage, longestBaggage) : undefined;

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

/** The parent that a text names. What a version to come says more is left out, as the rules have it. */
function parentOf(value: unknown): string | undefined {
  if (typeof value !== "string" || !parentForm.test(value)) return undefined;
  if (value.startsWith("00")) return value.length === parentLength ? value : undefined;
  return `00${value.slice(2, parentLength)}`;
}

/** A text that a header can hold, of at most so many characters; else none. */
function headerText(value: unknown, longest: number): string | undefined {
  return typeof value === "string" && value.length <= longest && printable.test(value) ? value : undefined;
}
