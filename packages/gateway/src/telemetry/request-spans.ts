import type { Span } from "@opentelemetry/api";
import type { ConnectionFacts } from "@wirescope/tool-server";

/** The spans of requests of servers that are under way, by connection: they are told what happens to it meanwhile. */
export interface RequestSpans {
  begin(facts: ConnectionFacts, span: Span): void;
  end(facts: ConnectionFacts, span: Span): void;
  of(facts: ConnectionFacts): Iterable<Span>;
}

export function createRequestSpans(): RequestSpans {
  const requests = new Map<ConnectionFacts, Set<Span>>();
  return {
    begin(facts, span) {
      if (!span.isRecording()) return;
      const spans = requests.get(facts);
      if (spans === undefined) requests.set(facts, new Set([span]));
      else spans.add(span);
    },
    end(facts, span) {
      const spans = requests.get(facts);
      if (spans?.delete(span) && spans.size === 0) requests.delete(facts);
    },
    of: (facts) => requests.get(facts) ?? [],
  };
}
