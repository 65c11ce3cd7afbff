import type { Context } from "@opentelemetry/api";
import type { ConnectionInfo } from "@wirescope/tool-server";

/** Where in a trace something is done, so that what is done for it stands below. */
export interface Place {
  /** What stands above an operation for this connection; undefined once the place is left, for work may outlive what began it. */
  contextFor(subject: ConnectionInfo): Context | undefined;
  leave(): void;
}

/** The place of a request of a client: what is done for a connection stands below the request that was made over it. */
export interface CallPlace extends Place {
  /** A request of a server begins. */
  enter(subject: ConnectionInfo, context: Context): void;
}

export function createPlace(context: Context): CallPlace {
  let own: Context | undefined = context;
  let asked: { readonly subject: ConnectionInfo; readonly context: Context } | undefined;
  return {
    contextFor: (subject) => (asked?.subject === subject ? asked.context : own),
    enter(subject, below) {
      asked = { subject, context: below };
    },
    leave() {
      own = undefined;
      asked = undefined;
    },
  };
}
