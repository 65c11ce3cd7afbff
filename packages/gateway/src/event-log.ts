import type { CallObserver } from "./call-observer.js";
import type { Teller } from "./events.js";

export interface EventLogOptions {
  readonly tell: Teller;
  readonly redact: (text: string) => string;
  /** Whether arguments of calls are part of the events. */
  readonly tellsArguments: boolean;
}

/** How much of a string of a client, or of a server, is part of an event, in characters. */
const maxLength = 4096;

/** Emits an event for each call that ended: for a log, and for an audit. */
export function createEventLog({ tell, redact, tellsArguments }: EventLogOptions): CallObserver {
  if (!tell.isHeard) return {};
  return {
    ended(call, { how, fault, durationMs }) {
      const { id, method, route, account, session, params } = call;
      tell({
        kind: "call",
        id: typeof id === "string" ? cut(id) : id,
        method: cut(method),
        server: route?.server,
        name: route?.name === undefined ? undefined : cut(redact(route.name)),
        client: account.label,
        session: session?.shortId,
        outcome: how,
        reason: fault === undefined ? undefined : cut(redact(fault.message)),
        durationMs,
        ...(tellsArguments ? { arguments: params.arguments } : {}),
      });
    },
  };
}

function cut(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
