import { ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { type ConnectionInfo, channels, type StateChange } from "@wirescope/tool-server";
import { serverAttributes } from "./attributes.js";
import type { RequestSpans } from "./request-spans.js";
import { safely } from "./safely.js";

/** Follows connections: each time that one is being made is a span, and the spans of requests are told what happens meanwhile. */
export interface ConnectionWatch {
  /** Follows the connections to servers of these names. */
  watch(hasServer: (name: string) => boolean): void;
  close(): void;
}

export function watchConnections(tracer: Tracer, requests: RequestSpans): ConnectionWatch {
  const connecting = new Map<ConnectionInfo, Span>();
  let hasServer = (_: string): boolean => false;

  const hear = ({ subject, state, failure }: StateChange<ConnectionInfo>): void => {
    const facts = { "wirescope.state": state, ...(failure === undefined ? {} : { "error.type": failure.code }) };
    for (const span of requests.of(subject)) span.addEvent("wirescope.connection.state", facts);
    settle(subject, facts);
    if (state === "CONNECTING" && hasServer(subject.name)) {
      const attributes = serverAttributes(subject);
      // It is made for whoever comes, so it stands below no request.
      connecting.set(subject, tracer.startSpan("wirescope.connect", { attributes }, ROOT_CONTEXT));
    }
  };

  const settle = (subject: ConnectionInfo, facts: Readonly<Record<string, string>>): void => {
    const span = connecting.get(subject);
    if (span === undefined) return;
    connecting.delete(subject);
    span.setAttributes(facts);
    if (facts["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };

  const onState = (message: unknown): void => safely(() => hear(message as StateChange<ConnectionInfo>));
  const channel = channels["connection:state"];
  channel.subscribe(onState);
  return {
    watch(isOurs) {
      hasServer = isOurs;
    },
    close() {
      channel.unsubscribe(onState);
      for (const subject of [...connecting.keys()]) safely(() => settle(subject, {}));
    },
  };
}
