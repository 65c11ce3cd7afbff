import { ROOT_CONTEXT, type Span, type Tracer } from "@opentelemetry/api";
import { type ConnectionInfo, channels, type StateChange } from "@wirescope/tool-server";
import { serverAttributes } from "./attributes.js";
import { endSpan, guarded, type RequestSpans } from "./request-spans.js";

/** Records each attempt to connect as a span, and state changes as events of the request spans in flight. */
export interface ConnectionSpans {
  close(): void;
}

export interface ConnectionSpansOptions {
  readonly tracer: Tracer;
  readonly requests: RequestSpans;
  /** Whether a server is one of those whose connections are recorded. */
  readonly hasServer: (name: string) => boolean;
  readonly onDefect: (error: unknown) => void;
}

export function createConnectionSpans({
  tracer,
  requests,
  hasServer,
  onDefect,
}: ConnectionSpansOptions): ConnectionSpans {
  const connecting = new Map<ConnectionInfo, Span>();

  const onStateChange = ({ subject, state, failure }: StateChange<ConnectionInfo>): void => {
    const facts = { "wirescope.state": state, ...(failure === undefined ? {} : { "error.type": failure.code }) };
    for (const span of requests.of(subject)) span.addEvent("wirescope.connection.state", facts);
    settle(subject, facts);
    if (state === "CONNECTING" && hasServer(subject.name)) {
      const attributes = serverAttributes(subject);
      // A root span: the connection is shared, so it belongs to no single request.
      connecting.set(subject, tracer.startSpan("wirescope.connect", { attributes }, ROOT_CONTEXT));
    }
  };

  const settle = (subject: ConnectionInfo, facts: Readonly<Record<string, string>>): void => {
    const span = connecting.get(subject);
    if (span === undefined) return;
    connecting.delete(subject);
    endSpan(span, facts);
  };

  const onMessage = (message: unknown): void =>
    guarded(onDefect, () => onStateChange(message as StateChange<ConnectionInfo>));
  const channel = channels["connection:state"];
  channel.subscribe(onMessage);
  return {
    close() {
      channel.unsubscribe(onMessage);
      for (const subject of [...connecting.keys()]) guarded(onDefect, () => settle(subject, {}));
    },
  };
}
