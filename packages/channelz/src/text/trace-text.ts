/**
 * Interprets descriptions of trace events: the only place that does. The schema has no field for a change of state, for the cause of a
 * failure, or for how often an event happened, so each implementation writes them into `description`, in its own words. Ours are read the
 * same way, because another process may be of another version.
 */

// Case matters: the reason of a failure may be "cannot connect to ready.example". Our registry marks a change that gRPC does
// not expect, and counts an event that happens again.
const ready = /(?:->|\u2192|\bto)\s*READY\b/;
const failing = /(?:->|\u2192|\bto)\s*TRANSIENT_FAILURE\b(?: \(unexpected\))?/;
const repetition = / \(repeated (\d{1,15}) times\)$/;
const reasonWords =
  /error|fail|refus|reset|time[d ]*\s*out|timeout|deadline|unavailable|unreachable|expired|certificate|denied|not found|no such|closed|lost|goaway|cannot|could not|unable|invalid/i;

/** How much of a description is searched, and of a reason is kept, in characters. */
const maxSearched = 4096;
const maxReasonLength = 500;

function searched(text: string): string {
  return text.slice(0, maxSearched);
}

/** Whether an event is that the object connected. Not every implementation names the previous state, but all name READY. */
export function becameReady(description: string): boolean {
  return ready.test(searched(description));
}

/** Whether an event is that the object changed to TRANSIENT_FAILURE. */
export function becameFailing(description: string): boolean {
  return failing.test(searched(description));
}

/** How often an event happened, as our registry counts it; 1 if it is not counted. */
export function repetitionsOf(description: string): number {
  return Number(repetition.exec(description)?.[1] ?? 1);
}

/**
 * The reason of a failure in an event, without the change of state and the count, at most 500 characters; undefined if it contains none.
 * `isWarning` is its severity: an event without it needs words of a failure.
 */
export function reasonIn(description: string, isWarning: boolean): string | undefined {
  const whole = searched(description.replace(repetition, ""));
  const change = failing.exec(whole);
  const text = whole
    .slice(change === null ? 0 : change.index + change[0].length)
    .replace(/^[\s,:;("[]*(?:last error:)?/i, "")
    .trim()
    .slice(0, maxReasonLength);
  if (text === "") return undefined;
  return change !== null || isWarning || reasonWords.test(text.replaceAll("TRANSIENT_FAILURE", "")) ? text : undefined;
}

/** What a reason is about, if that is known. */
export type ReasonKind =
  | "refused"
  | "permission"
  | "unauthenticated"
  | "forbidden"
  | "tls"
  | "name"
  | "network"
  | "http-status";

/** The first that matches applies: "403 Forbidden" is more than a status, and a refused TLS handshake is about TLS. */
const reasonKinds: readonly (readonly [kind: ReasonKind, pattern: RegExp])[] = [
  ["refused", /ECONNREFUSED|connection refused/i],
  ["permission", /\bEACCES\b|\bEPERM\b/],
  ["unauthenticated", /unauth|sign-?in|\b401\b/i],
  ["forbidden", /forbidden|denied|\b403\b/i],
  ["tls", /certificate|\btls\b|\bssl\b|handshake/i],
  ["name", /ENOTFOUND|EAI_AGAIN|resolv|\bdns\b|no such host/i],
  ["network", /time[d ]*\s*out|timeout|deadline|unreachable/i],
  ["http-status", /\b[45]\d\d [A-Z][a-z]/],
];

/** What a reason is about; undefined if it is not known. A hint for an advice. */
export function reasonKindOf(reason: string): ReasonKind | undefined {
  return reasonKinds.find(([, pattern]) => pattern.test(searched(reason)))?.[0];
}

/** `too-many`: the peer rejects them because they are too frequent. `silent`: they get no response. */
export type KeepaliveFailure = "too-many" | "silent";

// The word keepalive alone may be part of a setting or a name.
const tooManyKeepalives = /too_many_pings|ENHANCE_YOUR_CALM/i;
const silentKeepalives =
  /keep-?alive.{0,40}(?:fail|time[d ]*-?out|no response|not|lost)|ping (?:timed? ?out|timeout|was not)/i;

/** Which failure of keepalives an event reports; undefined if it reports none. */
export function keepaliveFailureIn(description: string): KeepaliveFailure | undefined {
  const text = searched(description);
  if (tooManyKeepalives.test(text)) return "too-many";
  return silentKeepalives.test(text) ? "silent" : undefined;
}
