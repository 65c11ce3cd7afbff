import type { Span } from "@opentelemetry/api";
import type { ConnectionInfo } from "@wirescope/tool-server";

/** The spans of requests of servers that are under way, by connection: they are told what happens to it meanwhile. */
export interface RequestSpans {
  begin(info: ConnectionInfo, span: Span): void;
  end(info: ConnectionInfo, span: Span): void;
  of(info: ConnectionInfo): Iterable<Span>;
}

export function createRequestSpans(): RequestSpans {
  const requests = new Map<ConnectionInfo, Set<Span>>();
  return {
    begin(info, span) {
      if (!span.isRecording()) return;
      const spans = requests.get(info);
      if (spans === undefined) requests.set(info, new Set([span]));
      else spans.add(span);
    },
    end(info, span) {
      const spans = requests.get(info);
      if (spans?.delete(span) && spans.size === 0) requests.delete(info);
    },
    of: (info) => requests.get(info) ?? [],
  };
}
