import type { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  type Link,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { metaOf } from "@wirescope/tool-server/internal";
import type { CallEnding } from "../call-observer.js";
import type { ClientCall } from "../client-call.js";
import type { TraceFieldReader } from "../trace-fields.js";
import {
  callerAttributes,
  codeAttributes,
  other,
  requestAttributes,
  spanName,
  subjectAttributes,
} from "./attributes.js";
import type { CallTrace } from "./call-trace.js";
import { type AskParts, createAskTrace } from "./create-ask-trace.js";
import { createPlace, type Place } from "./place.js";
import { contextOf } from "./span-context.js";

/** What requests are followed with. */
export interface CallTraceParts extends AskParts {
  readonly tracer: Tracer | undefined;
  readonly serverDuration: Histogram<Attributes> | undefined;
  readonly reader: TraceFieldReader;
  readonly transport: "tcp" | "unix";
  /** Tells what is done for a request that it is: undefined where nobody takes spans. */
  readonly places: AsyncLocalStorage<Place | undefined> | undefined;
}

/** Begins to follow a request of a client, below where it says that it stands. */
export function createCallTrace(parts: CallTraceParts, call: ClientCall, ambient: Context): CallTrace {
  const method = call.isKnown ? call.method : undefined;
  const { tracer, serverDuration, transport, places } = parts;
  const common: Attributes = { "mcp.method.name": method ?? other, ...callerAttributes(call, transport) };
  let span: Span | undefined;
  let below = ambient;
  if (tracer !== undefined) {
    const { parent, links } = placeOf(parts.reader, call, ambient);
    const attributes = { ...common, ...requestAttributes(call) };
    span = tracer.startSpan(method ?? other, { kind: SpanKind.SERVER, attributes, links }, parent);
    below = trace.setSpan(parent, span);
  }

  const place = createPlace(below);
  const end = (ending: CallEnding): void => {
    place.leave();
    const told = endAttributes(method, call, ending);
    serverDuration?.record(ending.durationMs / 1000, { ...common, ...told }, below);
    if (span === undefined) return;
    span.setAttributes({ ...told, "wirescope.outcome": ending.how });
    span.updateName(spanName(method, told));
    if (told["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };

  return {
    run: (work) => context.with(below, () => (places === undefined ? work() : places.run(place, work))),
    forward: (request) => createAskTrace(parts, request, { context: below, place, came: call.traceFields }),
    end,
  };
}

/**
 * What a request stands below: what its `_meta` says, for that is the client's own word for this request; else what is
 * active here, which knows of the headers; else what the headers say. What does not become the parent is linked.
 */
function placeOf(
  reader: TraceFieldReader,
  { params, headers }: ClientCall,
  ambient: Context,
): { readonly parent: Context; readonly links: Link[] } {
  const active = trace.getSpanContext(ambient);
  const said = contextOf(reader.contextIn(metaOf(params)));
  const heard = active === undefined ? contextOf(reader.contextIn(headers)) : undefined;
  const beside = active ?? heard;
  if (said === undefined)
    return { parent: heard === undefined ? ambient : trace.setSpanContext(ambient, heard), links: [] };
  const isOther = beside !== undefined && beside.spanId !== said.spanId;
  return { parent: trace.setSpanContext(ambient, said), links: isOther ? [{ context: beside }] : [] };
}

function endAttributes(
  method: string | undefined,
  { params: { name }, route }: ClientCall,
  { how, fault }: CallEnding,
): Attributes {
  // A call that has a route is of something in the catalogue.
  const known = typeof name !== "string" ? undefined : route === undefined ? other : name;
  return {
    ...subjectAttributes(method, known),
    ...(route === undefined ? {} : { "wirescope.server": route.server }),
    ...(how === "tool-error" ? { "error.type": "tool_error" } : {}),
    ...(how === "cancelled" ? { "error.type": "cancelled" } : {}),
    ...(how === "error" && fault !== undefined ? codeAttributes(fault.code) : {}),
  };
}
