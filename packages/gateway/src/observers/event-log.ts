import { redactStart } from "@wirescope/tool-server/internal";
import type { CallObserver } from "../call-observer.js";
import type { GatewayEvents } from "../events.js";

export interface EventLogOptions {
  readonly events: Pick<GatewayEvents, "emit" | "hasSubscribers">;
  readonly redact: (text: string) => string;
  /** Whether the events contain the arguments of calls. */
  readonly logsArguments: boolean;
}

/** The maximum length of a string from a client or a server in an event, in characters. */
const maxLength = 4096;

/** Emits a `call` event when a call ends, for the log and the audit. */
export function createEventLog({ events, redact, logsArguments }: EventLogOptions): CallObserver {
  if (!events.hasSubscribers("call")) return {};
  return {
    ended(call, { how, fault, durationMs }) {
      const { id, method, route, account, session, params } = call;
      events.emit({
        kind: "call",
        id: typeof id === "string" ? cut(id) : id,
        method: cut(method),
        server: route?.server,
        name: route?.name === undefined ? undefined : redactStart(route.name, maxLength, redact),
        client: account.label,
        session: session?.shortId,
        outcome: how,
        reason: fault === undefined ? undefined : redactStart(fault.message, maxLength, redact),
        durationMs,
        ...(logsArguments ? { arguments: params.arguments } : {}),
      });
    },
  };
}

function cut(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
