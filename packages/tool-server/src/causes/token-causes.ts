import { isoTime, roundedDuration } from "../duration.js";
import type { Cause, Fix } from "./cause-table.js";
import { type FixTarget, fixByCommand, fixField, fixHelper, fixVariable } from "./fixes.js";
import { states } from "./peer-text.js";
import {
  describeRefusal,
  type HeaderEvidence,
  type RefusalEvidence,
  statedReason,
  type TokenEvidence,
} from "./refusal-evidence.js";

/** Smaller differences between two clocks do not count: a Date header has whole seconds, and a response takes time. */
const minSkewMs = 30_000;

/** Causes that the claims of the rejected tokens show: times by both clocks, audience, and permissions. */
export function tokenCauses(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  return refusal.tokens.flatMap((token) => [
    ...timeCauses(refusal, target, token),
    ...audienceCauses(refusal, target, token),
    ...scopeCauses(refusal, target, token),
  ]);
}

function timeCauses(refusal: RefusalEvidence, target: FixTarget, token: TokenEvidence): Cause[] {
  const { now, skewMs = 0 } = refusal;
  const { expiresAt, issuedAt, notBefore } = token;
  const serverNow = now + skewMs;
  const validFrom = Math.max(notBefore ?? 0, issuedAt ?? 0);
  const subject = `The token in ${token.header}${sourceText(token)}`;
  const evidence = [
    ...describeRefusal(refusal),
    `The token: issued ${timeOf(issuedAt)}, valid from ${timeOf(notBefore ?? issuedAt)} until ${timeOf(expiresAt)}.`,
    `Local clock: ${isoTime(now)}; server clock: ${isoTime(serverNow)}.`,
  ];
  const causes: Cause[] = [];
  const isExpired = (at: number): boolean => expiresAt !== undefined && expiresAt <= at;
  const isEarly = (at: number): boolean => validFrom > at;
  if (isExpired(serverNow)) {
    const ago = roundedDuration(serverNow - (expiresAt ?? serverNow));
    const problem = `${subject} expired at ${timeOf(expiresAt)}, ${ago} ago by the server's clock.`;
    const fix = renew(refusal, target, token);
    causes.push({ code: "token-expired", weight: isExpired(now) ? 0.97 : 0.8, problem, evidence, fix });
  }
  if (isEarly(serverNow)) {
    const problem = `${subject} is not valid until ${isoTime(validFrom)}, in ${roundedDuration(validFrom - serverNow)} by the server's clock.`;
    const fix = { advice: "Correct the clock of the issuer of the token, or wait until then.", command: "date -u" };
    causes.push({ code: "token-not-yet-valid", weight: isEarly(now) ? 0.97 : 0.8, problem, evidence, fix });
  }
  if (Math.abs(skewMs) > minSkewMs) {
    const direction = skewMs > 0 ? "ahead of" : "behind";
    const isDecisive = isExpired(serverNow) !== isExpired(now) || isEarly(serverNow) !== isEarly(now);
    const problem = `The server's clock is ${roundedDuration(Math.abs(skewMs))} ${direction} the local clock, and the token is only valid for a limited time.`;
    const fix = { advice: "Correct the clock that is wrong.", command: "date -u" };
    causes.push({ code: "clock-skew", weight: isDecisive ? 0.98 : 0.4, problem, evidence, fix });
  }
  return causes;
}

function audienceCauses(refusal: RefusalEvidence, target: FixTarget, token: TokenEvidence): Cause[] {
  const { audience, isForServer } = token;
  const { resource, host = "another one" } = refusal;
  if (audience.length === 0 || isForServer === true || (resource !== undefined && audience.includes(resource)))
    return [];
  const list = audience.map((text) => JSON.stringify(text)).join(", ");
  const isKnown = isForServer === false || resource !== undefined;
  const problem = `The token in ${token.header}${sourceText(token)} is for ${list}, but the server is ${resource ?? host}.`;
  const evidence = [...describeRefusal(refusal), `The audience (aud) of the token: ${list}.`];
  const fix =
    token.from === "oauth"
      ? fixByCommand(target, ["logout", "login"], "Sign out and sign in again to request a token for this server.")
      : { ...renew(refusal, target, token), advice: "Get a token that was issued for this server, and set it." };
  return [{ code: "wrong-audience", weight: isKnown ? 0.9 : 0.35, problem, evidence, fix }];
}

/** Permissions that the server names and the token lacks. */
function scopeCauses(refusal: RefusalEvidence, target: FixTarget, token: TokenEvidence): Cause[] {
  const { challenge } = refusal;
  const { scopes } = token;
  // A challenge without an error lists the scopes to request first, and says nothing about this token.
  if (scopes === undefined || challenge?.error === undefined || challenge.error === "invalid_token") return [];
  const missing = challenge.scopes.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return [];
  const problem = `The token in ${token.header}${sourceText(token)} lacks ${missing.join(", ")}, which the server requires.`;
  const evidence = [...describeRefusal(refusal), `The token has: ${scopes.join(", ") || "none"}.`];
  const fix = { ...renew(refusal, target, token), advice: "Get a token with this permission." };
  return [{ code: "scope-missing", weight: 0.95, problem, evidence, fix }];
}

/** How to get another token from the same source. */
function renew({ helper }: RefusalEvidence, target: FixTarget, { from, variables }: TokenEvidence): Fix {
  if (from === "oauth") return fixByCommand(target, ["login"], "Sign in again.");
  if (from === "helper") {
    return fixHelper(helper?.path ?? "", "The helper must return a new token. Run it by hand to check.");
  }
  const [variable] = variables;
  return variable === undefined
    ? { advice: "Get a new token." }
    : fixVariable(variable, `Get a new token and set ${variable}.`);
}

/** The source of a header's value, in parentheses. */
export function sourceText({ from, variables }: Pick<HeaderEvidence, "from" | "variables">): string {
  if (from === "helper") return " (from the helper)";
  if (from === "oauth") return " (from the sign-in)";
  return variables.length === 0 ? "" : ` (from ${variables.join(" and ")})`;
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? "at an unknown time" : isoTime(ms);
}

/** Causes in the tenant or workspace: by the token, by the server's message, or because one is selected at all. */
export function tenantCauses(refusal: RefusalEvidence, target: FixTarget): Cause[] {
  const { tokens, tenants, tenantVariables, status } = refusal;
  const evidence = describeRefusal(refusal);
  const fix = fixTenant(refusal, target);
  const causes: Cause[] = [];
  const add = (weight: number, problem: string, more: readonly string[] = []): void => {
    causes.push({ code: "wrong-tenant", weight, problem, evidence: [...evidence, ...more], fix });
  };
  const claims = tokens.flatMap((token) => token.tenants);
  for (const { header, value } of tenants) {
    if (claims.length === 0) add(0.3, `${header} selects a tenant. The credential may belong to another one.`);
    if (claims.length === 0 || claims.some((claim) => claim.value === value)) continue;
    const list = claims.map((claim) => `${claim.claim} ${JSON.stringify(claim.value)}`).join(", ");
    const problem = `${header} selects ${JSON.stringify(value)}, but the token belongs to another tenant.`;
    add(0.9, problem, [`${header}: ${value}; the token has ${list}.`]);
  }
  if (states(statedReason(refusal), "tenant-wrong"))
    add(0.87, "The server says that the tenant or workspace is wrong.");
  if (tenantVariables.length > 0 && status === 403) {
    const list = [...new Set(tenantVariables)].join(", ");
    add(0.45, `${list} selects the tenant or workspace. The credential may belong to another one.`);
  }
  return causes;
}

function fixTenant({ tenantVariables: [variable] }: RefusalEvidence, target: FixTarget): Fix {
  if (variable !== undefined) {
    const advice = `Set ${variable} to the tenant that the credential belongs to, or use a credential of this tenant.`;
    return fixVariable(variable, advice);
  }
  return fixField(target, "entry", "Select the tenant that the credential belongs to, in the url or in a header.");
}
