import { commandLine } from "../../command-line.js";
import { isAuthorizationName, parseAuthorization, parseBasic } from "../../config/headers.js";
import type { CredentialDescription, HeaderDescription } from "../../connection-info.js";
import { isoTime, roundedDuration } from "../../duration.js";
import { printableText } from "../../printable-text.js";
import type { RefusalCause, RefusalFinding } from "../../refusal-finding.js";
import { isCredentialHeader, isSecretName, isTenantHeader } from "../../secrets/secret-names.js";
import { isPlaceholder } from "../../secrets/secret-shapes.js";
import { type Challenge, parseChallenges } from "./challenge.js";
import type { Refusal } from "./credential.js";
import { readTokenTimes } from "./json-web-token.js";

/** What is known of a refusal. */
export interface RefusalFacts {
  readonly refusal: Refusal;
  /** The name of the server, for commands that are told. Default: they are told without. */
  readonly server?: string | undefined;
  /** What the credential tells of itself. */
  readonly credential: CredentialDescription;
  /** The time, in milliseconds since the epoch. */
  readonly now: number;
  /** Takes secrets out of what the server said. */
  readonly redact: (text: string) => string;
}

/** Two clocks that differ by less are the same: a Date header has seconds, and an answer takes its time. */
const skewMs = 30_000;

/** What may be behind a 401 or 403, the likeliest first; nothing for another status. */
export function diagnoseRefusal(facts: RefusalFacts): RefusalFinding[] {
  const { refusal, credential } = facts;
  if (refusal.status !== 401 && refusal.status !== 403) return [];
  const challenges = parseChallenges(refusal.challenge ?? "");
  const findings: RefusalFinding[] = [];
  const sent = Object.entries(refusal.sent);
  if (sent.length === 0 && refusal.status === 401) findings.push(nothingSent(facts, challenges));
  for (const [name, value] of sent) {
    const described = credential.headers.find((header) => header.name.toLowerCase() === name.toLowerCase());
    const origin = described ?? { name, from: "configuration", scheme: undefined, variables: [] };
    findings.push(...judgeValue(origin, value, challenges), ...judgeTimes(origin, value, facts));
  }
  if (refusal.status === 401) findings.push(...wrongHeader(credential, sent, challenges));
  findings.push(...judgeAnswer(challenges, facts));
  if (refusal.status === 401) findings.push(...origins(credential));
  findings.push(...tenants(credential));
  if (refusal.status === 403) findings.push(lackingPermission(credential));
  // The sort is stable: within a weight, the order above stays.
  return findings.sort((a, b) => Number(a.weight === "check") - Number(b.weight === "check"));
}

function nothingSent({ credential, server }: RefusalFacts, challenges: readonly Challenge[]): RefusalFinding {
  const { kind } = credential;
  const asked = knownSchemes(challenges);
  const wish = asked.length === 0 ? "" : ` The server asks for ${asked.join(" or ")}.`;
  const place = kind === "environment" ? "in its env" : "in headers or headersHelper";
  const isOAuth = kind === "oauth" && challenges.some(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const advice = isOAuth
    ? `Nobody has signed in: ${server === undefined ? `${commandLine("login")} <server>` : commandLine("login", server)}`
    : `Give the entry one ${place}.`;
  return {
    cause: "nothing-sent",
    weight: "explains",
    message: `The request carried no credential.${wish} ${advice}`,
    variables: [],
  };
}

/** What can be seen from the form of a value. */
function judgeValue(origin: HeaderDescription, value: string, challenges: readonly Challenge[]): RefusalFinding[] {
  const { name, variables } = origin;
  const found = (cause: RefusalCause, message: string): RefusalFinding => ({
    cause,
    weight: "explains",
    message,
    header: name,
    variables,
  });
  const from = originOf(origin);
  const { scheme, credentials } = isAuthorizationName(name)
    ? parseAuthorization(value)
    : { scheme: undefined, credentials: value };
  if (isPlaceholder(credentials)) {
    return [
      found("placeholder", `${name}${from} holds the example of a document, not a credential. Set the real one.`),
    ];
  }
  if (!isAuthorizationName(name)) return [];
  if (scheme === undefined) {
    if (/\s/.test(credentials)) return [];
    const message = `${name}${from} starts with neither "Bearer " nor "Basic ": a bare token is refused. Write "Bearer " before it.`;
    return [found("scheme-missing", message)];
  }
  if (credentials === "") return [found("credentials-malformed", `${name}${from} has nothing after ${scheme}.`)];
  if (parseAuthorization(credentials).scheme !== undefined) {
    const message = `${name}${from} names a scheme twice. The variable or the helper has it already: keep one.`;
    return [found("credentials-malformed", message)];
  }
  if (/^["'].*["']$/s.test(credentials)) {
    return [found("credentials-malformed", `${name}${from} has quotes around its token. Take them away.`)];
  }
  if (scheme === "Basic" && parseBasic(credentials) === undefined) {
    const message = `${name}${from} is Basic, but not followed by the base64 of user:password. Encode it so.`;
    return [found("credentials-malformed", message)];
  }
  const known = knownSchemes(challenges);
  if (known.length > 0 && !challenges.some((challenge) => challenge.scheme === scheme.toLowerCase())) {
    return [found("scheme-differs", `${name} is sent as ${scheme}, and the server asks for ${known.join(" or ")}.`)];
  }
  return [];
}

/**
 * A credential in another header than the challenge asks for. A challenge always asks for Authorization; one with a scheme that we
 * do not know may mean a header of the server's own.
 */
function wrongHeader(
  { headers }: CredentialDescription,
  sent: readonly (readonly [name: string, value: string])[],
  challenges: readonly Challenge[],
): RefusalFinding[] {
  const asked = knownSchemes(challenges);
  const isOther = challenges.some(({ scheme }) => schemeName(scheme) === undefined);
  if (asked.length === 0 || isOther || sent.some(([name]) => isAuthorizationName(name))) return [];
  const names = new Set(sent.map(([name]) => name.toLowerCase()));
  const found = headers.find((header) => names.has(header.name.toLowerCase()) && carriesCredential(header));
  if (found === undefined) return [];
  const { name, variables } = found;
  const message = `The server asks for Authorization: ${asked.join(" or ")}, and the token is in ${name}${originOf(found)}.`;
  const scheme = asked.includes("Bearer") ? "Bearer" : asked[0];
  return [{ cause: "wrong-header", weight: "explains", message, header: name, variables, scheme }];
}

/** Whether a header carries a credential, by its own name or by that of a variable in its value. */
export function carriesCredential({ name, variables }: Pick<HeaderDescription, "name" | "variables">): boolean {
  return isCredentialHeader(name) || (variables.some(isSecretName) && !isTenantHeader(name));
}

/** What can be seen from the times of a token, by the clock of the server where it tells one. */
function judgeTimes(origin: HeaderDescription, value: string, { refusal, now }: RefusalFacts): RefusalFinding[] {
  const { name, variables } = origin;
  const times = readTokenTimes(isAuthorizationName(name) ? parseAuthorization(value).credentials : value);
  if (times === undefined) return [];
  const serverNow = Date.parse(refusal.date ?? "");
  const judgedAt = Number.isNaN(serverNow) ? now : serverNow;
  const found: RefusalFinding[] = [];
  const from = originOf(origin);
  const { expiresAt, notBefore, issuedAt } = times;
  if (expiresAt !== undefined && expiresAt <= judgedAt) {
    const since = issuedAt === undefined ? "" : ` It was issued at ${isoTime(issuedAt)}.`;
    found.push({
      cause: "token-expired",
      weight: "explains",
      message: `The token in ${name}${from} expired at ${isoTime(expiresAt)}, ${roundedDuration(judgedAt - expiresAt)} ago.${since} Get a new one.`,
      header: name,
      variables,
    });
  }
  const validFrom = Math.max(notBefore ?? 0, issuedAt ?? 0);
  if (validFrom > judgedAt) {
    found.push({
      cause: "token-not-yet-valid",
      weight: "explains",
      message: `The token in ${name}${from} is valid only from ${isoTime(validFrom)}, in ${roundedDuration(validFrom - judgedAt)}. Check the clock of whoever issued it.`,
      header: name,
      variables,
    });
  }
  const skew = judgedAt - now;
  if (Math.abs(skew) > skewMs) {
    const direction = skew > 0 ? "ahead of" : "behind";
    found.push({
      cause: "clock-skew",
      weight: "check",
      message: `The clock of the server is ${roundedDuration(Math.abs(skew))} ${direction} the one here (${isoTime(now)}), and the token in ${name} is valid by time. Set the clock that is wrong.`,
      header: name,
      variables,
    });
  }
  return found;
}

/** What the server itself said. */
function judgeAnswer(challenges: readonly Challenge[], { redact }: RefusalFacts): RefusalFinding[] {
  const say = (text: string): string => printableText(redact(text), 200);
  return challenges.flatMap(({ parameters }): RefusalFinding[] => {
    const error = parameters.get("error");
    const scope = parameters.get("scope");
    const description = parameters.get("error_description");
    if (error === "insufficient_scope") {
      const wanted = scope === undefined ? "" : `: ${say(scope)}`;
      const message = `The server asks for a permission that the token lacks${wanted}. Get a token with it.`;
      return [{ cause: "scope-missing", weight: "explains", message, variables: [] }];
    }
    const words = [error, description].filter((part) => part !== undefined).map(say);
    if (words.length === 0) return [];
    return [
      { cause: "server-says", weight: "check", message: `The server says: "${words.join(": ")}".`, variables: [] },
    ];
  });
}

/** Where the values come from, so that people know what to look at. */
function origins({ headers, helper, environment }: CredentialDescription): RefusalFinding[] {
  const found = headers
    .filter(({ name, variables }) => variables.length > 0 && !isTenantHeader(name))
    .map(({ name, variables }): RefusalFinding => {
      const message = `${name} is made of ${listText(variables)}. Check that it holds the current credential of this server.`;
      return { cause: "variable", weight: "check", message, header: name, variables };
    });
  for (const { name, variables } of environment) {
    if (variables.length === 0) continue;
    const message = `The process gets ${name} from ${listText(variables)}. Check that it holds the current credential.`;
    found.push({ cause: "variable", weight: "check", message, variables });
  }
  if (helper !== undefined) {
    const when = helper.obtainedAt === undefined ? "" : ` at ${isoTime(helper.obtainedAt)}`;
    const names = headers.filter(({ from }) => from === "helper").map(({ name }) => name);
    const what = names.length === 0 ? "The headers" : listText(names);
    const message = `${what} came from the helper ${printableText(helper.path, 500)}${when}. Run it by hand, and look at what it signs with.`;
    found.push({ cause: "helper", weight: "check", message, variables: [] });
  }
  return found;
}

function tenants({ headers }: CredentialDescription): RefusalFinding[] {
  return headers
    .filter(({ name }) => isTenantHeader(name))
    .map((header) => ({
      cause: "tenant",
      weight: "check",
      message: `${header.name}${originOf(header)} chooses a tenant. Check that the credential belongs to it.`,
      header: header.name,
      variables: header.variables,
    }));
}

function lackingPermission({ headers }: CredentialDescription): RefusalFinding {
  return {
    cause: "permission",
    weight: "check",
    message:
      "The server knows who asks, and does not allow it. Check the permissions or scopes of the credential, and whether an administrator has to approve.",
    variables: [...new Set(headers.flatMap(({ variables }) => variables))],
  };
}

function originOf({ from, variables }: HeaderDescription): string {
  if (from === "helper") return " (from the helper)";
  return variables.length === 0 ? "" : ` (from ${listText(variables)})`;
}

const schemeNames: Readonly<Record<string, string>> = {
  basic: "Basic",
  bearer: "Bearer",
  digest: "Digest",
  dpop: "DPoP",
  negotiate: "Negotiate",
};

/** A scheme that we know, by its name; words of a server that are none are not repeated. */
function schemeName(scheme: string): string | undefined {
  return Object.hasOwn(schemeNames, scheme) ? schemeNames[scheme] : undefined;
}

function knownSchemes(challenges: readonly Challenge[]): string[] {
  return [...new Set(challenges.flatMap(({ scheme }) => schemeName(scheme) ?? []))];
}

function listText(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
