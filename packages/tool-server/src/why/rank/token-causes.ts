import { shellWord } from "../../command-line.js";
import { isoTime, roundedDuration } from "../../duration.js";
import type { Cause, Mend } from "../explanation.js";
import type { RefusalFacts, TokenFacts, WalkFacts } from "../facts.js";
import { refusalEvidence } from "./evidence.js";
import { mendBy, mendVariable } from "./mends.js";

/** Clocks that differ by less are the same: a Date header has seconds, and an answer takes its time. */
const leastSkewMs = 30_000;

/** What the tokens that were refused say of themselves: their times, by both clocks; whom they are for; what they may do. */
export function tokenCauses(facts: WalkFacts, refusal: RefusalFacts): Cause[] {
  return refusal.tokens.flatMap((token) => [
    ...timeCauses(facts, refusal, token),
    ...audienceCauses(facts, token),
    ...scopeCauses(facts, refusal, token),
  ]);
}

function timeCauses(facts: WalkFacts, { now, skewMs = 0 }: RefusalFacts, token: TokenFacts): Cause[] {
  const { expiresAt, issuedAt, notBefore } = token;
  const there = now + skewMs;
  const validFrom = Math.max(notBefore ?? 0, issuedAt ?? 0);
  const subject = `The token in ${token.header}${originOf(token)}`;
  const evidence = [
    ...refusalEvidence(facts),
    `The token: issued ${timeOf(issuedAt)}, valid from ${timeOf(notBefore ?? issuedAt)} until ${timeOf(expiresAt)}.`,
    `The clock here: ${isoTime(now)}; that of the server: ${isoTime(there)}.`,
  ];
  const causes: Cause[] = [];
  const isSkewed = Math.abs(skewMs) > leastSkewMs;
  const isExpired = (at: number): boolean => expiresAt !== undefined && expiresAt <= at;
  const isEarly = (at: number): boolean => validFrom > at;
  if (isExpired(there)) {
    const message = `${subject} expired at ${timeOf(expiresAt)}, ${roundedDuration(there - (expiresAt ?? there))} ago by the server's clock.`;
    causes.push({
      cause: "token-expired",
      weight: isExpired(now) ? 0.97 : 0.8,
      message,
      evidence,
      mend: renew(facts, token),
    });
  }
  if (isEarly(there)) {
    const message = `${subject} is valid only from ${isoTime(validFrom)}, in ${roundedDuration(validFrom - there)} by the server's clock.`;
    const mend = { what: "Set the clock of whoever issued the token, or wait until then.", command: "date -u" };
    causes.push({ cause: "token-not-yet-valid", weight: isEarly(now) ? 0.97 : 0.8, message, evidence, mend });
  }
  if (isSkewed) {
    const direction = skewMs > 0 ? "ahead of" : "behind";
    const isDecisive = isExpired(there) !== isExpired(now) || isEarly(there) !== isEarly(now);
    const message = `The clock of the server is ${roundedDuration(Math.abs(skewMs))} ${direction} the one here, and the token is judged by its times.`;
    const mend = { what: "Set the clock that is wrong.", command: "date -u" };
    causes.push({ cause: "clock-skew", weight: isDecisive ? 0.98 : 0.4, message, evidence, mend });
  }
  return causes;
}

function audienceCauses(facts: WalkFacts, token: TokenFacts): Cause[] {
  const { audience, isForServer } = token;
  const resource = facts.oauth?.resource?.resource;
  if (audience.length === 0 || isForServer === true || (resource !== undefined && audience.includes(resource)))
    return [];
  const host = facts.network === undefined ? "this server" : `${facts.network.host}, port ${facts.network.port}`;
  const list = audience.map((text) => JSON.stringify(text)).join(", ");
  const isKnown = isForServer === false || resource !== undefined;
  return [
    {
      cause: "wrong-audience",
      weight: isKnown ? 0.9 : 0.35,
      message: `The token in ${token.header}${originOf(token)} is for ${list}, and the server is ${resource ?? host}.`,
      evidence: [...refusalEvidence(facts), `The audience (aud) of the token: ${list}.`],
      mend:
        token.from === "oauth"
          ? mendBy(facts, ["logout", "login"], "Sign out and in again, so that a token for this server is asked for.")
          : { ...renew(facts, token), what: "Get a token that is issued for this server, and set it." },
    },
  ];
}

/** Permissions that the server names and the token does not have. */
function scopeCauses(facts: WalkFacts, { challenge }: RefusalFacts, token: TokenFacts): Cause[] {
  const { scopes } = token;
  const wanted = challenge?.scopes ?? [];
  // The scope of a challenge without an error is what to ask for at first, and says nothing of this token.
  if (scopes === undefined || challenge?.error === undefined || challenge.error === "invalid_token") return [];
  const lacking = wanted.filter((scope) => !scopes.includes(scope));
  if (lacking.length === 0) return [];
  return [
    {
      cause: "scope-missing",
      weight: 0.95,
      message: `The token in ${token.header}${originOf(token)} lacks ${lacking.join(", ")}, which the server asks for.`,
      evidence: [...refusalEvidence(facts), `The token has: ${scopes.join(", ") || "none"}.`],
      mend: { ...renew(facts, token), what: "Get a token with that permission." },
    },
  ];
}

/** How to get another token than this one. */
function renew(facts: WalkFacts, { from, variables }: TokenFacts): Mend {
  if (from === "oauth") return mendBy(facts, ["login"], "Sign in again.");
  const [variable] = variables;
  if (from === "helper") {
    return {
      what: "Let the helper make a new token; run it by hand to see.",
      command: shellWord(facts.helper?.path ?? ""),
    };
  }
  return variable === undefined ? { what: "Get a new token." } : mendVariable(variable, "Get a new token, and set it.");
}

function originOf({ from, variables }: TokenFacts): string {
  if (from === "helper") return " (from the helper)";
  if (from === "oauth") return " (from the sign-in)";
  return variables.length === 0 ? "" : ` (from ${variables.join(" and ")})`;
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? "at a time that it does not tell" : isoTime(ms);
}
