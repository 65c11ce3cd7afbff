import { keyHeaderIn } from "../../causes/peer-text.js";
import {
  asksForToken,
  type HeaderDefect,
  type HeaderEvidence,
  type RefusalEvidence,
  type TokenEvidence,
} from "../../causes/refusal-evidence.js";
import { isAuthorizationName, parseAuthorization, parseBasic } from "../../config/headers.js";
import type { CredentialDescription, HeaderDescription } from "../../connection-info.js";
import { printableText } from "../../printable-text.js";
import { isCredentialHeader, isPlaceholder, isSecretName, isTenantHeader } from "../../secrets/recognize-secrets.js";
import { parseUrl } from "../../url.js";
import { parseChallenges } from "./challenge.js";
import type { Refusal } from "./credential.js";

interface RefusedRequest {
  readonly refusal: Pick<Refusal, "status" | "sent" | "challenge" | "date">;
  readonly credential: CredentialDescription;
  /** The server that refused it. */
  readonly url: URL;
  /** The local time, in milliseconds since the epoch. */
  readonly now: number;
  /** Removes secrets from the server's text. */
  readonly redact: (text: string) => string;
}

/** Collects what a refusal shows, without secrets: headers, the challenge, the claims of tokens, the clocks. */
export function collectRefusalEvidence({ refusal, credential, url, now, redact }: RefusedRequest): RefusalEvidence {
  // Truncated after redaction, so that no part of a secret remains.
  const sanitize = (text: string, maxLength = 300): string =>
    printableText(redact(text).replace(/\s+/g, " ").trim(), maxLength);
  const sent = credentialHeaders(refusal.sent, credential);
  const serverNow = Date.parse(refusal.date ?? "");
  const challenge = collectChallenge(refusal.challenge, sanitize);
  const tenants = sent.filter(({ header }) => isTenantHeader(header.name));
  const { helper, oauth } = credential;
  const isOAuth = credential.kind === "oauth" && (asksForToken(challenge) || challenge?.resourceMetadata.length);
  return {
    status: refusal.status,
    now,
    skewMs: Number.isNaN(serverNow) ? undefined : serverNow - now,
    headers: sent.map(({ header, value }) => describeHeader(header, value)),
    challenge,
    tokens: sent.flatMap(({ header, value }) => readTokenEvidence(header, value, url, sanitize) ?? []),
    tenants: tenants.map(({ header, value }) => ({ header: header.name, value: sanitize(value, 100) })),
    tenantVariables: tenants.flatMap(({ header }) => header.variables),
    helper: helper && { path: sanitize(helper.path, 500), obtainedAt: helper.obtainedAt },
    oauth: isOAuth ? "supported" : undefined,
    signIn: oauth && { isSignedIn: oauth.isSignedIn, scopes: oauth.scopes, canRefresh: oauth.canRefresh },
    host: sanitize(url.host),
  };
}

interface SentHeader {
  readonly header: HeaderDescription;
  readonly value: string;
}

/** The headers of a request that belong to its credential, and not to HTTP or the protocol. */
export function credentialHeaders(
  sent: Readonly<Record<string, string>>,
  credential: Pick<CredentialDescription, "kind" | "headers">,
): SentHeader[] {
  return Object.entries(sent).flatMap(([name, value]) => {
    const known = credential.headers.find((header) => header.name.toLowerCase() === name.toLowerCase());
    if (known !== undefined) return [{ header: known, value }];
    if (!/^(authorization|dpop)$/i.test(name)) return [];
    const from = credential.kind === "oauth" ? "oauth" : "configuration";
    return [{ header: { name, from, scheme: undefined, variables: [] }, value }];
  });
}

/** Whether a header carries a credential, by its own name or by the name of a variable in its value. */
export function carriesCredential({ name, variables }: Pick<HeaderDescription, "name" | "variables">): boolean {
  return isCredentialHeader(name) || (variables.some(isSecretName) && !isTenantHeader(name));
}

function describeHeader(header: HeaderDescription, value: string): HeaderEvidence {
  const { name, from, variables } = header;
  const { scheme, defect } = inspectValue(name, value);
  return { name, from, variables, isCredential: carriesCredential(header), scheme, defect };
}

/** Detects the scheme and formal defects of a value. */
function inspectValue(name: string, value: string): { scheme?: string | undefined; defect?: HeaderDefect | undefined } {
  if (!isAuthorizationName(name)) return { defect: missingCredential(value) };
  const { scheme, credentials } = parseAuthorization(value);
  const missing = missingCredential(credentials);
  if (missing !== undefined) return { scheme, defect: missing };
  if (scheme === undefined) return { defect: /\s/.test(credentials) ? undefined : "no-scheme" };
  if (credentials === "") return { scheme, defect: "no-credentials" };
  if (parseAuthorization(credentials).scheme !== undefined) return { scheme, defect: "scheme-doubled" };
  if (/^["'].*["']$/s.test(credentials)) return { scheme, defect: "quoted" };
  if (scheme === "Basic" && parseBasic(credentials) === undefined) return { scheme, defect: "basic-not-base64" };
  const isUsual = !/^(?:Bearer|Basic)$/.test(scheme) || value.trim().startsWith(scheme);
  return isUsual ? { scheme } : { scheme, defect: "scheme-case" };
}

/** What a value contains instead of a credential. */
function missingCredential(value: string): HeaderDefect | undefined {
  if (value === "undefined" || value === "null") return value;
  return isPlaceholder(value) ? "placeholder" : undefined;
}

function collectChallenge(header: string | undefined, sanitize: (text: string, maxLength?: number) => string) {
  if (header === undefined) return undefined;
  const challenges = parseChallenges(header);
  const parameter = (name: string): string | undefined => {
    const found = challenges.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined);
    return found === undefined ? undefined : sanitize(found);
  };
  return {
    schemes: challenges.map(({ scheme }) => sanitize(scheme, 40)),
    error: parameter("error"),
    description: parameter("error_description"),
    scopes: (parameter("scope") ?? "").split(" ").filter(Boolean),
    resourceMetadata: challenges.flatMap(({ resourceMetadata }) => resourceMetadata.map((url) => sanitize(url))),
    keyHeader: keyHeaderIn(sanitize(header)),
  };
}

const tenantClaims =
  "tid tenant tenant_id org org_id organization organization_id workspace workspace_id account_id project_id team_id".split(
    " ",
  );
const maxValues = 10;

/** Reads times, audience, scopes and tenant from the JSON Web Token in a header; undefined if the value is not one. */
export function readTokenEvidence(
  header: Pick<HeaderDescription, "name" | "from" | "variables">,
  value: string,
  server: URL,
  sanitize: (text: string) => string,
): TokenEvidence | undefined {
  const token = isAuthorizationName(header.name) ? parseAuthorization(value).credentials : value;
  const claims = readClaims(token);
  if (claims === undefined) return undefined;
  const audience = stringsOf(claims.aud);
  const scopes = claims.scope ?? claims.scp;
  return {
    header: header.name,
    from: header.from,
    variables: header.variables,
    ...timesOf(claims),
    audience: audience.map((text) => sanitize(text)),
    isForServer: isMeantFor(audience, server),
    scopes:
      scopes === undefined
        ? undefined
        : stringsOf(scopes)
            .flatMap(wordsOf)
            .map((scope) => sanitize(scope)),
    tenants: tenantClaims.flatMap((claim) => {
      const value = claims[claim];
      return typeof value === "string" || typeof value === "number" ? [{ claim, value: sanitize(String(value)) }] : [];
    }),
  };
}

/** Whether a token with this audience is meant for a server, by its origin or host; undefined if the audience is not a url. */
export function isMeantFor(audience: readonly string[], server: URL): boolean | undefined {
  const origin = (url: URL): string => `${url.protocol.replace(/^ws/, "http")}//${url.host}`;
  const urls = audience.flatMap((text) => (/^(https?|wss?):\/\//i.test(text) ? (parseUrl(text) ?? []) : []));
  if (urls.some((url) => origin(url) === origin(server))) return true;
  if (audience.includes(server.host) || audience.includes(server.hostname)) return true;
  return audience.length > 0 && urls.length === audience.length ? false : undefined;
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

function stringsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string" && item !== "").slice(0, maxValues);
}

/** The times of a JSON Web Token, in milliseconds since the epoch. Nothing else of a token is reported. */
type TokenTimes = Pick<TokenEvidence, "issuedAt" | "notBefore" | "expiresAt">;

/** The latest time that a Date can represent. */
const latestMs = 8.64e15;

/** The times of the token in a header, not verified; undefined if the value is not a JSON Web Token. */
export function tokenTimesOfHeader(name: string, value: string): TokenTimes | undefined {
  return readTokenTimes(isAuthorizationName(name) ? parseAuthorization(value).credentials : value);
}

/** The times of a JSON Web Token; undefined if the text is not one. The signature is not verified. */
export function readTokenTimes(text: string): TokenTimes | undefined {
  const claims = readClaims(text);
  return claims && timesOf(claims);
}

type Claims = Readonly<Record<string, unknown>>;

function timesOf({ iat, nbf, exp }: Claims): TokenTimes {
  return { issuedAt: timeOf(iat), notBefore: timeOf(nbf), expiresAt: timeOf(exp) };
}

/** The claims of a JSON Web Token; undefined if the text is not one. */
function readClaims(text: string): Claims | undefined {
  const [, head = "", body = ""] = /^([\w-]+)\.([\w-]+)\.[\w-]*$/.exec(text) ?? [];
  return typeof readPart(head)?.alg === "string" ? readPart(body) : undefined;
}

function readPart(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function timeOf(seconds: unknown): number | undefined {
  return typeof seconds === "number" && seconds >= 0 && seconds * 1000 <= latestMs ? seconds * 1000 : undefined;
}
