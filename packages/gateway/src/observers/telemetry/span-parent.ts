import type { Context } from "@opentelemetry/api";
import type { ConnectionInfo } from "@wirescope/tool-server";

/** The parent of spans for work that is done on behalf of another operation, such as a refresh during a call. */
export interface SpanParent {
  /** The parent context for an operation of this connection; undefined after `end`, because work may outlive what started it. */
  contextFor(subject: ConnectionInfo): Context | undefined;
  end(): void;
}

/** The span parent of a client's call: an operation of a connection is a child of the request that was sent over it. */
export interface CallSpanParent extends SpanParent {
  /** A request to a server starts. */
  enter(subject: ConnectionInfo, context: Context): void;
}

export function createSpanParent(context: Context): CallSpanParent {
  let own: Context | undefined = context;
  let request: { readonly subject: ConnectionInfo; readonly context: Context } | undefined;
  return {
    contextFor: (subject) => (request?.subject === subject ? request.context : own),
    enter(subject, requestContext) {
      request = { subject, context: requestContext };
    },
    end() {
      own = undefined;
      request = undefined;
    },
  };
}
