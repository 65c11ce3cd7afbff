import { ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { type ConnectionFacts, channels, type StateChange } from "@wirescope/tool-server";
import { serverAttributes } from "./attributes.js";
import { safely } from "./safely.js";

/** Follows connections: each time that one is being made is a span, and the spans of requests are told what happens meanwhile. */
export interface ConnectionWatch {
  /** Follows the connections to servers of these names. */
  watch(hasServer: (name: string) => boolean): void;
  /** Tells this span of the connection, until its end. */
  begin(facts: ConnectionFacts, span: Span): void;
  end(facts: ConnectionFacts, span: Span): void;
  close(): void;
}

export function watchConnections(tracer: Tracer): ConnectionWatch {
  const requests = new Map<ConnectionFacts, Set<Span>>();
  const connecting = new Map<ConnectionFacts, Span>();
  let hasServer = (_: string): boolean => false;

  const hear = ({ subject, state, code }: StateChange<ConnectionFacts>): void => {
    const facts = { "wirescope.state": state, ...(code === undefined ? {} : { "error.type": code }) };
    for (const span of requests.get(subject) ?? []) span.addEvent("wirescope.connection.state", facts);
    settle(subject, facts);
    if (state === "CONNECTING" && hasServer(subject.name)) {
      const attributes = serverAttributes(subject);
      // It is made for whoever comes, so it stands below no request.
      connecting.set(subject, tracer.startSpan("wirescope.connect", { attributes }, ROOT_CONTEXT));
    }
  };

  const settle = (subject: ConnectionFacts, facts: Readonly<Record<string, string>>): void => {
    const span = connecting.get(subject);
    if (span === undefined) return;
    connecting.delete(subject);
    span.setAttributes(facts);
    if (facts["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };

  const onState = (message: unknown): void => safely(() => hear(message as StateChange<ConnectionFacts>));
  const channel = channels["connection:state"];
  channel.subscribe(onState);
  return {
    watch(isOurs) {
      hasServer = isOurs;
    },
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
    close() {
      channel.unsubscribe(onState);
      for (const subject of [...connecting.keys()]) safely(() => settle(subject, {}));
    },
  };
}
