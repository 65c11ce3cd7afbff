import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, ROOT_CONTEXT, type Span, type SpanContext, type Tracer, trace } from "@opentelemetry/api";
import {
  type ConnectionInfo,
  type CredentialOperation,
  type CredentialOutcome,
  channels,
} from "@wirescope/tool-server";
import { expect, onTestFinished, test } from "vitest";
import { createCredentialSpans } from "./credential-spans.js";
import { createRequestSpans } from "./request-spans.js";
import { createSpanParent, type SpanParent } from "./span-parent.js";

const infoOf = (name: string): ConnectionInfo => ({
  kind: "http",
  name,
  target: "https://notes.example/mcp?key=1",
  tenant: {},
  credential: () => ({ kind: "oauth", summary: "", headers: [], environment: [] }),
});
const notes = infoOf("notes");

interface RecordedSpan {
  readonly name: string;
  readonly parent: string | undefined;
  readonly links: string[];
  isEnded: boolean;
}

/** Records the spans that are created; the id of each is its number. */
function createTracer(): { tracer: Tracer; spans: RecordedSpan[]; start(name: string, context?: Context): Span } {
  const spans: RecordedSpan[] = [];
  const startSpan = (name: string, _: unknown, context: Context): Span => {
    const one: RecordedSpan = { name, parent: trace.getSpanContext(context)?.spanId, links: [], isEnded: false };
    const spanContext: SpanContext = { traceId: "1".repeat(32), spanId: String(spans.push(one)), traceFlags: 1 };
    const span = {
      spanContext: () => spanContext,
      isRecording: () => !one.isEnded,
      setAttributes: () => span,
      setStatus: () => span,
      addEvent: () => span,
      addLink(link: { readonly context: SpanContext }) {
        one.links.push(link.context.spanId);
        return span;
      },
      end() {
        one.isEnded = true;
      },
    };
    return span as unknown as Span;
  };
  return {
    tracer: { startSpan } as unknown as Tracer,
    spans,
    start: (name, context = ROOT_CONTEXT) => startSpan(name, undefined, context),
  };
}

function startWatch() {
  const { tracer, spans, start } = createTracer();
  const spanParents = new AsyncLocalStorage<SpanParent | undefined>();
  const requests = createRequestSpans();
  const defects: unknown[] = [];
  const watch = createCredentialSpans({
    spans: { tracer, spanParents, requests },
    duration: undefined,
    hasServer: (name) => name === "notes",
    onDefect: (error) => void defects.push(error),
  });
  onTestFinished(watch.close);
  return { spans, start, spanParents, requests, watch, tracer, defects };
}

/** Runs a credential operation as a tool server does; `work` is the inner operation. */
function operate(
  kind: CredentialOperation["kind"],
  work = (): void => {},
  subject = notes,
  outcome: CredentialOutcome = { outcome: "done" },
): void {
  const operation: CredentialOperation = { subject, kind, cause: "renewal" };
  channels["credential:started"].runStores(operation, work);
  channels["credential:ended"].publish({ operation, ...outcome, durationMs: 1 });
}

test("reports the exception of a tracer as a defect, and keeps the operation running", () => {
  const { tracer, defects } = startWatch();
  const error = new Error("a broken tracer");
  tracer.startSpan = () => {
    throw error;
  };
  let runs = 0;
  operate("refresh", () => {
    runs += 1;
  });
  expect([runs, defects]).toEqual([1, [error]]);
});

test("records a part as a child of its operation, and the operation as a child of the request that caused it", () => {
  const { spans, start, spanParents } = startWatch();
  const call = start("call");
  const place = createSpanParent(trace.setSpan(ROOT_CONTEXT, call));
  spanParents.run(place, () => {
    operate("refresh", () => operate("discovery"));
    place.enter(notes, trace.setSpan(ROOT_CONTEXT, start("ask")));
    operate("step-up", () => operate("sign-in", () => operate("registration")));
  });
  expect(spans.map(({ name, parent }) => [name, parent])).toEqual([
    ["call", undefined],
    ["wirescope.refresh", "1"],
    ["wirescope.discovery", "2"],
    ["ask", undefined],
    ["wirescope.step_up", "4"],
    ["wirescope.sign_in", "5"],
    ["wirescope.registration", "6"],
  ]);
});

test("records no parent for an operation that outlives its cause", () => {
  const { spans, start, spanParents } = startWatch();
  const place = createSpanParent(trace.setSpan(ROOT_CONTEXT, start("call")));
  let later = (): void => {};
  spanParents.run(place, () => {
    operate("refresh", () => {
      later = AsyncLocalStorage.bind(() => operate("discovery"));
    });
    later();
    place.end();
    operate("refresh");
  });
  expect(spans.slice(2).map(({ name, parent }) => [name, parent])).toEqual([
    ["wirescope.discovery", undefined],
    ["wirescope.refresh", undefined],
  ]);
});

test("links requests in flight on the same connection to a refresh, but not to its parts, nor after they have ended", () => {
  const { spans, start, requests, watch } = startWatch();
  const [before, other, over, during] = ["before", "other", "over", "during"].map((name) => start(name)) as [
    Span,
    Span,
    Span,
    Span,
  ];
  requests.add(notes, before);
  requests.add(infoOf("others"), other);
  requests.add(notes, over);
  requests.remove(notes, over);
  operate("refresh", () => {
    operate("discovery");
    requests.add(notes, during);
    watch.link(notes, during);
  });
  watch.link(notes, start("after"));
  const refresh = String(spans.findIndex(({ name }) => name === "wirescope.refresh") + 1);
  expect(Object.fromEntries(spans.map(({ name, links }) => [name, links]))).toMatchObject({
    before: [refresh],
    other: [],
    over: [],
    during: [refresh],
    after: [],
  });
});

test("does not record operations of foreign servers, and ends open spans on close", () => {
  const subscribed = (): boolean[] => [
    channels["credential:started"].hasSubscribers,
    channels["credential:ended"].hasSubscribers,
  ];
  // Other tests in the same process may subscribe as well.
  const before = subscribed();
  const { spans, watch } = startWatch();
  expect(subscribed()).toEqual([true, true]);
  operate("refresh", undefined, infoOf("others"));
  expect(spans).toEqual([]);
  operate("refresh", () => watch.close());
  expect(spans).toMatchObject([{ name: "wirescope.refresh", isEnded: true }]);
  expect(subscribed()).toEqual(before);
  operate("refresh");
  expect(spans).toHaveLength(1);
});
