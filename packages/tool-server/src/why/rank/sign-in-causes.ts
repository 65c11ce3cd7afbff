import { knownIssuer } from "../../auth/oauth/discovery/known-issuers.js";
import type { Cause, CauseCode, Fix } from "../../causes/cause-table.js";
import { fixByCommand, fixByRegistration, fixField } from "../../causes/fixes.js";
import { states } from "../../causes/peer-text.js";
import { providerHint } from "../../causes/provider-codes.js";
import { asksForToken, describeRefusal, type RefusalEvidence } from "../../causes/refusal-evidence.js";
import { isoTime, roundedDuration } from "../../duration.js";
import type { ToolServerErrorCode } from "../../errors.js";
import {
  type AuthorizationServerEvidence,
  type FailureEvidence,
  isFailedRenewal,
  isRenewal,
  type OAuthEvidence,
  type StoredFailure,
  type WalkEvidence,
} from "../evidence.js";
import { refusalOf, supportsOAuth } from "./refusal-causes.js";

/** A token that was obtained so recently is new: if the server rejects it, it will reject the next one too. */
const newTokenMs = 600_000;

/** Why a sign-in with OAuth does not produce a token that the server accepts. */
export function signInCauses(seen: WalkEvidence): Cause[] {
  const { oauth } = seen;
  if (oauth === undefined) return [];
  const refusal = refusalOf(seen);
  if (!supportsOAuth(seen)) return [...vaultCauses(seen, oauth), ...possibleSignIn(seen, refusal)];
  return [
    ...vaultCauses(seen, oauth),
    ...(refusal === undefined ? [] : [...metadataCauses(seen, oauth), ...clientCauses(seen, oauth)]),
    ...renewalCauses(seen, oauth),
    ...(refusal === undefined ? [] : rejectedTokenCauses(seen, oauth, refusal)),
  ];
}

/** The server may have the default endpoints of revision 2025-03-26, which required no metadata. */
function possibleSignIn(seen: WalkEvidence, refusal: RefusalEvidence | undefined): Cause[] {
  if (refusal?.status !== 401 || !asksForToken(refusal.challenge)) return [];
  const problem = "The server asks for a token. It may support OAuth, although it publishes no metadata.";
  const fix = fixByCommand(seen, ["login"], "Try to sign in.");
  return [{ code: "sign-in-needed", weight: 0.3, problem, evidence: describeRefusal(refusal), fix }];
}

function vaultCauses(seen: WalkEvidence, { vaultFailure }: OAuthEvidence): Cause[] {
  if (vaultFailure === undefined) return [];
  const advice = "Provide the key that the tokens were encrypted with, or fix what the message says.";
  const fix = fixByCommand(seen, ["auth"], advice);
  return [{ code: "vault-unreadable", weight: 1, problem: vaultFailure.message, evidence: [], fix }];
}

function clientCauses(seen: WalkEvidence, { client }: OAuthEvidence): Cause[] {
  if (client === undefined) return [];
  const { outcome, evidence, redirectUri, kind } = client;
  const uri = redirectUri === undefined ? "" : ` (${redirectUri})`;
  const isRegistered = kind === "registered";
  if (outcome === "dead") {
    const problem = "The authorization server no longer knows the registered client.";
    const fix = isRegistered
      ? fixByCommand(seen, ["login"], "Sign in: this registers the client again.")
      : fixByRegistration(seen);
    return [{ code: "client-dead", weight: 0.96, problem, evidence, fix }];
  }
  if (outcome === "redirect-mismatch") {
    const problem = `The authorization server rejects the redirect URI of the client${uri}.`;
    const again = "Sign out and sign in again: this registers the client again, with the current redirect URI.";
    const fix = isRegistered
      ? fixByCommand(seen, ["logout", "login"], again)
      : { advice: `Register exactly this redirect URI${uri} for the client.` };
    return [{ code: "redirect-mismatch", weight: 0.96, problem, evidence, fix }];
  }
  if (outcome !== "closed") return [];
  const problem = "The authorization server does not support dynamic client registration, and no client is configured.";
  return [{ code: "registration-refused", weight: 0.94, problem, evidence, fix: fixByRegistration(seen) }];
}

/** The result of the last token refresh, during the walk or before it. */
function renewalCauses(seen: WalkEvidence, { events }: OAuthEvidence): Cause[] {
  if (seen.attempt?.failure === undefined) return [];
  const dropped = events.findLast(({ kind }) => kind === "tokens-dropped");
  const failed = events.findLast(isFailedRenewal);
  const renewed = events.findLastIndex(isRenewal);
  if (dropped !== undefined && events.lastIndexOf(dropped) > renewed) {
    const problem = "The token expired or was revoked, and the authorization server rejects its refresh token.";
    const fix = fixByCommand(seen, ["login"], "Sign in again.");
    return [{ code: "refresh-token-dead", weight: 0.97, problem, evidence: [dropped.text], fix }];
  }
  if (failed !== undefined && events.lastIndexOf(failed) > renewed) {
    const problem =
      "The token expired, and the authorization server failed to refresh it. A new sign-in is not required.";
    const fix = fixByCommand(seen, ["ping"], "Try again later. If it persists, check the authorization server.");
    return [{ code: "refresh-failing", weight: 0.97, problem, evidence: [failed.text], fix }];
  }
  return [];
}

/** Causes that the age of a rejected token shows. */
function rejectedTokenCauses(seen: WalkEvidence, oauth: OAuthEvidence, refusal: RefusalEvidence): Cause[] {
  const { before, events } = oauth;
  if (before?.isSignedIn !== true || refusal.status === 403) return [];
  const evidence = [...describeRefusal(refusal), ...storedEvidence(oauth, refusal.now)];
  const isRenewed = events.some(isRenewal);
  const ageMs = refusal.now - (before.obtainedAt ?? 0);
  if (knownIssuer(before.issuer ?? "")?.name === "Auth0" && ageMs < newTokenMs) {
    const problem =
      "The server rejects a new token of Auth0. Without an audience, Auth0 issues tokens that no API accepts.";
    const advice =
      "Set audience in authorizeParameters in the oauth object of the entry to the identifier of the API, and sign in again.";
    const fix = fixField(seen, "oauth", advice, '"oauth": {"authorizeParameters": {"audience": "…"}}');
    return [{ code: "wrong-audience", weight: 0.9, problem, evidence, fix }];
  }
  if (isRenewed || ageMs < newTokenMs) {
    const how = isRenewed ? "was just refreshed" : `was obtained ${roundedDuration(ageMs)} ago`;
    const problem = `The server rejects a token that ${how}: signing in again and again would not help. The token may be for another server, or the server does not trust its issuer.`;
    const advice =
      "Sign out and sign in once, to clear the stored tokens. If it persists, check the url of the entry, the redirect URL of the client, and the OAuth configuration of the server.";
    const fix = fixByCommand(seen, ["logout", "login"], advice);
    const weight = isRenewed ? 0.89 : 0.86;
    return [{ code: "sign-in-loop", weight, problem, evidence, fix }];
  }
  const problem = "The server no longer accepts the stored token, and it cannot be refreshed.";
  const fix = fixByCommand(seen, ["login"], "Sign in again.");
  return [{ code: "token-expired", weight: 0.85, problem, evidence, fix }];
}

function storedEvidence({ before }: OAuthEvidence, now: number): string[] {
  if (before === undefined) return [];
  const { issuer, scopes, expiresAt, obtainedAt, canRefresh } = before;
  const parts = [
    `Stored token: issued by ${issuer ?? "an unknown issuer"}`,
    ...(obtainedAt === undefined ? [] : [`obtained at ${isoTime(obtainedAt)}`]),
    expiresAt === undefined
      ? "of unknown expiry"
      : `${expiresAt <= now ? "expired" : "valid until"} ${isoTime(expiresAt)}`,
    ...(scopes === undefined || scopes.length === 0 ? [] : [`with the scopes ${scopes.join(" ")}`]),
    canRefresh ? "with a refresh token" : "without a refresh token",
  ];
  return [`${parts.join(", ")}.`];
}

const failureCodes: Partial<Record<ToolServerErrorCode, CauseCode>> = {
  REGISTRATION_REFUSED: "registration-refused",
  SIGN_IN_FAILED: "sign-in-failed",
  ISSUER_CHANGED: "issuer-changed",
  TOKEN_REFUSED: "token-refused",
};

/**
 * Causes that a failed sign-in shows: an earlier one, which a walk does not repeat because it would change something or require a user;
 * or one of a grant without a user.
 */
export function signInFailureCauses(seen: WalkEvidence): Cause[] {
  const { earlier, attempt, oauth } = seen;
  return [
    ...storedFailureCauses(seen, oauth?.lastFailure),
    ...failureCauses(seen, earlier, "The last sign-in failed with this error."),
    ...(attempt?.credential === "oauth"
      ? failureCauses(seen, attempt.failure, "The token request failed with this error.", adviceWithoutUser(seen))
      : []),
  ];
}

const storedCodes: Partial<Record<StoredFailure["operation"], CauseCode>> = {
  "sign-in": "sign-in-failed",
  refresh: "refresh-failing",
  "step-up": "scope-missing",
};
const storedNames: Partial<Record<StoredFailure["operation"], string>> = {
  "sign-in": "The last sign-in",
  refresh: "The last renewal of the token",
  "step-up": "The last request for more scopes",
};

/** What an earlier sign-in, renewal or request for more scopes says: the walk repeats none of them. */
export function storedFailureCauses(seen: WalkEvidence, failure: StoredFailure | undefined): Cause[] {
  if (failure === undefined) return [];
  const { operation, ageMs, advice } = failure;
  const when = `${storedNames[operation]} failed with this error, ${roundedDuration(ageMs)} ago.`;
  return failureCauses(seen, failure, when, advice ? { advice } : undefined, storedCodes[operation]);
}

/** What to do about a failure of a grant without a user, for whom a sign-in would be no help; undefined if there is none. */
function adviceWithoutUser({ attempt }: WalkEvidence): Fix | undefined {
  const { code, advice } = attempt?.failure ?? {};
  const isOwn = attempt?.credential === "oauth" && (code === "TOKEN_REFUSED" || code === "ISSUER_CHANGED");
  return isOwn && advice ? { advice } : undefined;
}

function failureCauses(
  seen: WalkEvidence,
  failure: FailureEvidence | undefined,
  when: string,
  fix?: Fix | undefined,
  otherwise?: CauseCode | undefined,
): Cause[] {
  const code = failure === undefined ? undefined : (failureCodes[failure.code] ?? otherwise);
  if (failure === undefined || code === undefined) return [];
  const { message, said = "", issuer } = failure;
  const base = { weight: 0.95, problem: message, evidence: [when] };
  const hint = providerHint(said, issuer);
  if (hint !== undefined) return [{ ...base, code: hint.code, fix: fixField(seen, "oauth", hint.advice, hint.write) }];
  if (states(said, "approval-needed")) {
    const advice = "Ask an administrator of the server, or of your organization there, to approve this client.";
    return [{ ...base, code: "approval-needed", fix: { advice } }];
  }
  if (states(said, "redirect-wrong") && code !== "issuer-changed") {
    const advice =
      "Sign out and sign in again: this registers the client again. If it was registered by hand, correct its redirect URI.";
    return [{ ...base, code: "redirect-mismatch", fix: fixByCommand(seen, ["logout", "login"], advice) }];
  }
  return [{ ...base, code, fix: fix ?? fixFor(seen, code) }];
}

function fixFor(seen: WalkEvidence, code: CauseCode): Fix {
  if (code === "registration-refused") return fixByRegistration(seen);
  return fixByCommand(seen, ["login"], code === "issuer-changed" ? confirmIssuer : "Sign in again.");
}

/** The advice if a server names another authorization server than before. */
const confirmIssuer = "Ask the operator of the server. If the change is intended, sign in again and confirm it.";

const reportToOperator: Fix = {
  advice:
    "Report it to the operator of the server. Until it is fixed, use a token in headers if the server accepts one.",
};

/** Causes in the metadata of a tool server or its authorization server, with which no sign-in can succeed. */
function metadataCauses(seen: WalkEvidence, { resource, authorization }: OAuthEvidence): Cause[] {
  const causes: Cause[] = [];
  if (resource?.outcome === "foreign") {
    const problem =
      "The resource metadata describes another resource. A token for that resource could be used elsewhere, so none is requested.";
    const advice = "Check the url of the entry. If it is correct, report it to the operator of the server.";
    const fix = fixField(seen, "url", advice);
    causes.push({ code: "resource-mismatch", weight: 0.98, problem, evidence: resource.evidence, fix });
  }
  return authorization === undefined ? causes : [...causes, ...authorizationCauses(seen, authorization)];
}

function authorizationCauses(seen: WalkEvidence, authorization: AuthorizationServerEvidence): Cause[] {
  const { outcome, evidence, expectedIssuer, publishedIssuer, changedFrom, endpoints, pkce } = authorization;
  const found = (code: CauseCode, problem: string, fix: Fix = reportToOperator, weight = 0.98): Cause => ({
    code,
    weight,
    problem,
    evidence,
    fix,
  });
  const causes: Cause[] = [];
  if (changedFrom !== undefined) {
    const problem = `The authorization server of this server was ${changedFrom} before, and is ${expectedIssuer} now.`;
    const fix = adviceWithoutUser(seen) ?? fixByCommand(seen, ["login"], confirmIssuer);
    causes.push(found("issuer-changed", problem, fix, 0.99));
  }
  if (outcome === "failed") {
    const advice = "Try again later. Check the proxy and the CA certificates, which also apply to this connection.";
    const problem = `The authorization server ${expectedIssuer} is unreachable or failing.`;
    return [...causes, found("metadata-unreachable", problem, fixByCommand(seen, ["login"], advice))];
  }
  if (outcome === "absent") {
    return [...causes, found("metadata-missing", `The authorization server ${expectedIssuer} publishes no metadata.`)];
  }
  if (outcome === "default") return causes;
  const unsafe = endpoints.filter(({ defect }) => defect !== undefined);
  if (publishedIssuer !== undefined && publishedIssuer !== expectedIssuer && outcome === "invalid") {
    const problem = `The metadata of ${expectedIssuer} names the issuer ${publishedIssuer}. The two must be identical.`;
    const advice =
      "Report it to the operator of the server. If you know which one is right, set it as issuer in the settings of this server in oauth.json.";
    causes.push(found("issuer-mismatch", problem, { advice }));
  } else if (unsafe.length > 0) {
    const list = unsafe.map(({ name, url, defect }) => `${name} (${url}): ${defect}`).join("; ");
    causes.push(found("endpoint-unsafe", `An endpoint of the authorization server is not safe to use: ${list}.`));
  } else if (outcome === "invalid") {
    causes.push(found("metadata-invalid", `The metadata of ${expectedIssuer} is invalid.`));
  }
  if (outcome === "found" && !pkce?.includes("S256") && !authorization.assumesPkce) {
    const methods = pkce === undefined ? "lists no PKCE methods" : `supports only PKCE ${pkce.join(", ") || "nothing"}`;
    const problem = `The authorization server ${expectedIssuer} ${methods}. Without S256 a stolen code could be used, so sign-in is refused.`;
    const advice =
      "Ask its operator to enable PKCE with S256 (code_challenge_methods_supported). If it supports PKCE and does not say so, set assumePkce in the oauth object of the entry.";
    causes.push(found("pkce-missing", problem, fixField(seen, "oauth", advice, '"oauth": {"assumePkce": true}')));
  }
  return causes;
}
