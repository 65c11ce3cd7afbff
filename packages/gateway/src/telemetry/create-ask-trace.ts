import {
  type Attributes,
  type Context,
  type Histogram,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { ConnectionInfo } from "@wirescope/tool-server";
import type { ObservedRequest, RequestObserver } from "../call-observer.js";
import type { TraceFields } from "../trace-fields.js";
import { failureAttributes, serverAttributes, spanName, subjectAttributes } from "./attributes.js";
import type { CallPlace } from "./place.js";
import type { RequestSpans } from "./request-spans.js";
import { fieldsOf } from "./span-context.js";
import type { CredentialWatch } from "./watch-credentials.js";

/** What requests of servers are followed with. */
export interface AskParts {
  readonly tracer: Tracer | undefined;
  readonly clientDuration: Histogram<Attributes> | undefined;
  readonly requests: RequestSpans;
  readonly credentials: Pick<CredentialWatch, "join"> | undefined;
}

/** What a request of a server is made for. */
export interface AskingCall {
  readonly context: Context;
  readonly place: CallPlace;
  /** What the client said of its trace. */
  readonly came: TraceFields | undefined;
}

/** Begins to follow a request of a server. */
export function createAskTrace(
  { tracer, clientDuration, requests, credentials }: AskParts,
  { connection, method, params }: ObservedRequest,
  { context: parent, place, came }: AskingCall,
): RequestObserver {
  const { info } = connection;
  // What goes on to a server is of the catalogue.
  const subject = subjectAttributes(method, typeof params.name === "string" ? params.name : undefined);
  const attributes: Attributes = { "mcp.method.name": method, ...subject, ...placeOf(info) };
  const startedAt = performance.now();
  const span = tracer?.startSpan(spanName(method, subject), { kind: SpanKind.CLIENT, attributes }, parent);
  const below = span === undefined ? parent : trace.setSpan(parent, span);
  place.enter(info, below);
  if (span !== undefined) {
    requests.begin(info, span);
    credentials?.join(info, span);
  }
  let sendings = 0;

  const end = (told: Attributes): void => {
    const version = connection.server?.protocolVersion;
    const late = version === undefined ? told : { ...told, "mcp.protocol.version": version };
    const seconds = (performance.now() - startedAt) / 1000;
    clientDuration?.record(seconds, { ...attributes, ...late }, below);
    if (span === undefined) return;
    requests.end(info, span);
    span.setAttributes(late);
    if (told["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };

  return {
    fields: span === undefined ? came : fieldsOf(span, came),
    sent() {
      sendings += 1;
      if (sendings > 1) span?.addEvent("wirescope.sent_again");
    },
    succeeded: ({ isError }) => end(isError === true ? { "error.type": "tool_error" } : {}),
    failed: (error) => end(failureAttributes(error)),
  };
}

const places = new WeakMap<ConnectionInfo, Attributes>();

/** Where a server is, found out once. */
function placeOf(info: ConnectionInfo): Attributes {
  let place = places.get(info);
  if (place === undefined) {
    place = serverAttributes(info);
    places.set(info, place);
  }
  return place;
}
