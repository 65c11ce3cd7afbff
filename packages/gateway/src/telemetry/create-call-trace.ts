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
import { type JsonObject, metaOf } from "@wirescope/tool-server/rpc";
import type { Caller } from "../clients/caller.js";
import {
  callerAttributes,
  codeAttributes,
  other,
  requestAttributes,
  spanName,
  subjectAttributes,
} from "./attributes.js";
import type { CallOutcome, CallTrace } from "./call-trace.js";
import { type AskParts, createAskTrace } from "./create-ask-trace.js";
import { createPlace, type Place } from "./place.js";
import { safely } from "./safely.js";
import { contextOf } from "./span-context.js";
import type { TraceFieldReader } from "./trace-fields.js";

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
export function createCallTrace(
  parts: CallTraceParts,
  method: string | undefined,
  params: JsonObject,
  caller: Caller,
  ambient: Context,
): CallTrace {
  const { tracer, serverDuration, transport, places } = parts;
  const common: Attributes = { "mcp.method.name": method ?? other, ...callerAttributes(params, caller, transport) };
  let span: Span | undefined;
  let below = ambient;
  if (tracer !== undefined) {
    const { parent, links } = placeOf(parts.reader, params, caller, ambient);
    const attributes = { ...common, ...requestAttributes(caller) };
    span = tracer.startSpan(method ?? other, { kind: SpanKind.SERVER, attributes, links }, parent);
    below = trace.setSpan(parent, span);
  }

  const place = createPlace(below);
  const end = (outcome: CallOutcome): void => {
    place.leave();
    const told = endAttributes(method, params, caller, outcome);
    serverDuration?.record(outcome.durationMs / 1000, { ...common, ...told }, below);
    if (span === undefined) return;
    span.setAttributes({ ...told, "wirescope.outcome": outcome.how });
    span.updateName(spanName(method, told));
    if (told["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };

  return {
    run: (work) => context.with(below, () => (places === undefined ? work() : places.run(place, work))),
    ask: (asked) => safely(() => createAskTrace(parts, asked, { context: below, place, came: caller.story.carried })),
    end: (outcome) => safely(() => end(outcome)),
  };
}

/**
 * What a request stands below: what its `_meta` says, for that is the client's own word for this request; else what is
 * active here, which knows of the headers; else what the headers say. What does not become the parent is linked.
 */
function placeOf(
  reader: TraceFieldReader,
  params: JsonObject,
  { headers }: Caller,
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
  { name }: JsonObject,
  { story }: Caller,
  { how, code }: CallOutcome,
): Attributes {
  // Who looked it up found it: it is one of the catalogue.
  const known = typeof name !== "string" ? undefined : story.name === undefined ? other : name;
  return {
    ...subjectAttributes(method, known),
    ...(story.server === undefined ? {} : { "wirescope.server": story.server }),
    ...(how === "tool-error" ? { "error.type": "tool_error" } : {}),
    ...(how === "cancelled" ? { "error.type": "cancelled" } : {}),
    ...(how === "error" && code !== undefined ? codeAttributes(code) : {}),
  };
}
