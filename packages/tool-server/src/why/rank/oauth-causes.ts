import { isoTime, roundedDuration } from "../../duration.js";
import type { Cause } from "../explanation.js";
import type { RefusalFacts, WalkFacts } from "../facts.js";
import type { OAuthFacts } from "../oauth-facts.js";
import { refusalEvidence } from "./evidence.js";
import { clientMend, mendBy } from "./mends.js";
import { metadataCauses } from "./metadata-causes.js";
import { asksForToken, hasOAuthEvidence } from "./oauth-evidence.js";

/** A token that was obtained so lately is new: one that is refused then will be refused again. */
const newMs = 600_000;

/** Why a sign-in by OAuth does not lead to a token that the server accepts. */
export function oauthCauses(facts: WalkFacts): Cause[] {
  const { oauth, attempt } = facts;
  if (oauth === undefined) return [];
  const refusal = attempt?.refusal;
  if (!hasOAuthEvidence(facts)) return [...vaultCauses(facts, oauth), ...possibleSignIn(facts)];
  return [
    ...vaultCauses(facts, oauth),
    ...(refusal === undefined ? [] : [...metadataCauses(facts, oauth), ...clientCauses(facts, oauth)]),
    ...renewalCauses(facts, oauth),
    ...(refusal === undefined ? [] : signInCauses(facts, oauth, refusal)),
  ];
}

/** That a server may have the endpoints of the revision 2025-03-26, which had no metadata. */
function possibleSignIn(facts: WalkFacts): Cause[] {
  if (facts.attempt?.refusal?.status !== 401 || !asksForToken(facts)) return [];
  const message = "The server asks for a token. It may take a sign-in by OAuth, though it publishes no metadata.";
  const mend = mendBy(facts, ["login"], "Try to sign in.");
  return [{ cause: "sign-in-needed", weight: 0.3, message, evidence: refusalEvidence(facts), mend }];
}

function vaultCauses(facts: WalkFacts, { vaultFailure }: OAuthFacts): Cause[] {
  if (vaultFailure === undefined) return [];
  const mend = mendBy(facts, ["auth"], "Give the key that the tokens were stored with, or fix what the message names.");
  return [{ cause: "vault-unreadable", weight: 1, message: vaultFailure.message, evidence: [], mend }];
}

function clientCauses(facts: WalkFacts, { client }: OAuthFacts): Cause[] {
  if (client === undefined) return [];
  const { outcome, evidence, redirectUri, kind } = client;
  const where = redirectUri === undefined ? "" : ` (${redirectUri})`;
  if (outcome === "dead") {
    const message = "The authorization server does not know the client any more that was registered with it.";
    const mend =
      kind === "registered" ? mendBy(facts, ["login"], "Sign in: it is registered again.") : clientMend(facts);
    return [{ cause: "client-dead", weight: 0.96, message, evidence, mend }];
  }
  if (outcome === "redirect-mismatch") {
    const message = `The authorization server does not accept the redirect URI of the client${where}.`;
    const mend =
      kind === "registered"
        ? mendBy(
            facts,
            ["logout", "login"],
            "Sign out and in again: the client is registered anew, with the redirect URI that is used.",
          )
        : { what: `Have the redirect URI${where} registered with the client, letter by letter.` };
    return [{ cause: "redirect-mismatch", weight: 0.96, message, evidence, mend }];
  }
  if (outcome !== "closed") return [];
  return [
    {
      cause: "registration-refused",
      weight: 0.94,
      message: "The authorization server registers no clients by itself, and the configuration has none.",
      evidence,
      mend: clientMend(facts),
    },
  ];
}

/** What a renewal during the walk, or before it, came to. */
function renewalCauses(facts: WalkFacts, { events }: OAuthFacts): Cause[] {
  const refused = facts.attempt?.failure !== undefined;
  const dropped = events.findLast(({ kind }) => kind === "tokens-dropped");
  const failed = events.findLast(({ kind }) => kind === "refresh-failed");
  const renewed = events.findLastIndex(({ kind }) => kind === "refreshed" || kind === "sign-in-done");
  if (!refused) return [];
  if (dropped !== undefined && events.lastIndexOf(dropped) > renewed) {
    const message = "The token has expired or was revoked, and its refresh token is not accepted any more.";
    const mend = mendBy(facts, ["login"], "Sign in again.");
    return [{ cause: "refresh-token-dead", weight: 0.97, message, evidence: [dropped.text], mend }];
  }
  if (failed !== undefined && events.lastIndexOf(failed) > renewed) {
    const message =
      "The token has expired, and the authorization server is in trouble, so it could not be renewed. Nobody has to sign in for that.";
    const mend = mendBy(facts, ["ping"], "Try again later; if it stays, look at the authorization server.");
    return [{ cause: "refresh-failing", weight: 0.97, message, evidence: [failed.text], mend }];
  }
  return [];
}

/** What follows from whether somebody signed in, and when. */
function signInCauses(facts: WalkFacts, oauth: OAuthFacts, refusal: RefusalFacts): Cause[] {
  const { before, events } = oauth;
  if (before === undefined) return [];
  const evidence = [...refusalEvidence(facts), ...storedEvidence(oauth, refusal.now)];
  if (refusal.status === 403) return scopeCauses(facts, oauth, refusal, evidence);
  if (!before.isSignedIn) {
    const message = "The server requires a sign-in, and nobody has signed in yet.";
    const mend = mendBy(facts, ["login"], "Sign in.");
    return [{ cause: "sign-in-needed", weight: 0.9, message, evidence, mend }];
  }
  const signIns = events.filter(({ kind }) => kind === "sign-in-done").length;
  const isRenewed = events.some(({ kind }) => kind === "refreshed");
  const ageMs = refusal.now - (before.obtainedAt ?? 0);
  if (isRenewed || signIns > 1 || ageMs < newMs) {
    const how = isRenewed ? "was renewed just now" : `was obtained ${roundedDuration(ageMs)} ago`;
    const again = signIns > 1 ? ` Somebody signed in ${signIns} times.` : "";
    return [
      {
        cause: "sign-in-loop",
        weight: signIns > 1 || isRenewed ? 0.89 : 0.86,
        message: `The server refuses a token that ${how}: to sign in again and again would not help.${again} The token may be for another server, or the server does not trust who issues it.`,
        evidence,
        mend: mendBy(
          facts,
          ["logout", "login"],
          "Clear the stored tokens by signing out and in, once. If it stays, check the url of the entry, the redirect URL of the client, and the OAuth configuration of the server.",
        ),
      },
    ];
  }
  return [
    {
      cause: "token-expired",
      weight: 0.85,
      message: "The server does not accept the stored token any more, and there is nothing to renew it with.",
      evidence,
      mend: mendBy(facts, ["login"], "Sign in again."),
    },
  ];
}

/** A permission that the token lacks: one that nobody asked for yet, or one that was not granted. */
function scopeCauses(
  facts: WalkFacts,
  { before }: OAuthFacts,
  { challenge }: RefusalFacts,
  evidence: readonly string[],
): Cause[] {
  const wanted = challenge?.scopes ?? [];
  const lacking = wanted.filter((scope) => !before?.scopes?.includes(scope));
  const general: Cause = {
    cause: "permission-missing",
    weight: 0.5,
    message: "The server knows who asks, and does not allow it.",
    evidence,
    mend: { what: "Ask an administrator of the server for the permission, or sign in as somebody who has it." },
  };
  if (challenge?.error !== "insufficient_scope" || lacking.length === 0) return [general];
  const message = `The token lacks the permission ${lacking.join(", ")}, which the server asks for.`;
  const mend = mendBy(facts, ["login"], "Sign in again, and allow it.");
  return [{ cause: "scope-missing", weight: 0.95, message, evidence, mend }, general];
}

function storedEvidence({ before, vault }: OAuthFacts, now: number): string[] {
  if (before === undefined || !before.isSignedIn) return vault === undefined ? [] : [vault.summary];
  const { issuer, scopes, expiresAt, obtainedAt, canRefresh } = before;
  const parts = [
    `A token of ${issuer ?? "an issuer that is not known"}`,
    ...(obtainedAt === undefined ? [] : [`obtained at ${isoTime(obtainedAt)}`]),
    expiresAt === undefined
      ? "of unknown expiry"
      : `${expiresAt <= now ? "expired" : "valid until"} ${isoTime(expiresAt)}`,
    ...(scopes === undefined || scopes.length === 0 ? [] : [`for ${scopes.join(" ")}`]),
    canRefresh ? "with a refresh token" : "without a refresh token",
  ];
  return [`${parts.join(", ")}.`];
}
