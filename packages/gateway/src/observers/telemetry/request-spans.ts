import { type Attributes, type Span, SpanStatusCode } from "@opentelemetry/api";
import type { ConnectionInfo } from "@wirescope/tool-server";

/** The spans of requests in flight, by connection: state changes of the connection are added to them as events. */
export interface RequestSpans {
  add(info: ConnectionInfo, span: Span): void;
  remove(info: ConnectionInfo, span: Span): void;
  of(info: ConnectionInfo): Iterable<Span>;
}

export function createRequestSpans(): RequestSpans {
  const requests = new Map<ConnectionInfo, Set<Span>>();
  return {
    add(info, span) {
      if (!span.isRecording()) return;
      const spans = requests.get(info);
      if (spans === undefined) requests.set(info, new Set([span]));
      else spans.add(span);
    },
    remove(info, span) {
      const spans = requests.get(info);
      if (spans?.delete(span) && spans.size === 0) requests.delete(info);
    },
    of: (info) => requests.get(info) ?? [],
  };
}

/** Ends a span. It has failed if the attributes have an error type. */
export function endSpan(span: Span, attributes: Attributes): void {
  span.setAttributes(attributes);
  if (attributes["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Runs code that must not affect what it observes: an exception, such as of an application's span processor, is a defect. */
export function guarded<T>(onDefect: (error: unknown) => void, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    onDefect(error);
    return undefined;
  }
}
