import { redactStart } from "@wirescope/tool-server/internal";
import { targetOf } from "../call-target.js";
import type { GatewayObserver, ObserverContext } from "../gateway-observer.js";
import { loggedReason } from "../logged-reason.js";

/** The maximum length of a string from a client or a server in an event, in characters. */
const maxLength = 4096;

/** Emits a `call` event when a call ends, for the log and the audit. */
export function startEventLog({ events, redact, logsArguments }: ObserverContext): GatewayObserver | undefined {
  if (!events.hasSubscribers("call")) return undefined;
  return {
    calls: {
      ended(call, { kind, error, durationMs }) {
        const { id, method, account, session, params } = call;
        const { server, name } = targetOf(call, error);
        events.emit({
          kind: "call",
          id: typeof id === "string" ? cut(id) : id,
          method: cut(method),
          server,
          // A server that reveals a secret decides what is hidden in its own text, but not which tool was called.
          name: name && redactStart(name, maxLength, (start) => redact(start, undefined, "own")),
          clientName: account.label,
          session: session?.shortId,
          outcome: kind,
          reason: error && loggedReason(error.message, params, maxLength, (text) => redact(text, server, "own")),
          durationMs,
          ...(logsArguments ? { arguments: params.arguments } : {}),
        });
      },
    },
  };
}

function cut(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
