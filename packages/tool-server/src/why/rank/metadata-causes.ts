import type { CauseCode } from "../cause-table.js";
import type { Cause, Mend } from "../explanation.js";
import type { WalkFacts } from "../facts.js";
import type { AuthorizationLook, OAuthFacts } from "../oauth-facts.js";
import { mendBy, mendField } from "./mends.js";

const askOperator: Mend = {
  what: "Tell the operator of the server; until then, use a token in headers where it gives one.",
};

/** What is wrong with what a tool server and its authorization server say of themselves: then no sign-in can succeed. */
export function metadataCauses(facts: WalkFacts, { resource, authorization }: OAuthFacts): Cause[] {
  const causes: Cause[] = [];
  if (resource?.outcome === "foreign") {
    const message =
      "The metadata of the server is of another resource: a token for that could be used elsewhere, so none is asked for.";
    const mend = mendField(
      facts,
      "url",
      "Check the url of the entry; where it is right, report the operator of the server.",
    );
    causes.push({ cause: "resource-mismatch", weight: 0.98, message, evidence: resource.evidence, mend });
  }
  return authorization === undefined ? causes : [...causes, ...authorizationCauses(facts, authorization)];
}

function authorizationCauses(facts: WalkFacts, look: AuthorizationLook): Cause[] {
  const { outcome, evidence, expectedIssuer, publishedIssuer, changedFrom } = look;
  const found = (cause: CauseCode, message: string, mend: Mend = askOperator, weight = 0.98): Cause => ({
    cause,
    weight,
    message,
    evidence,
    mend,
  });
  const causes: Cause[] = [];
  if (changedFrom !== undefined) {
    const message = `The server named ${changedFrom} as its authorization server before, and names ${expectedIssuer} now.`;
    const what = "Ask the operator of the server; where the change is meant, sign in again and confirm it.";
    causes.push(found("issuer-changed", message, mendBy(facts, ["login"], what), 0.99));
  }
  if (outcome === "failed") {
    const what = "Try again later; check the proxy and the authorities, which hold for this leg too.";
    const message = `The authorization server ${expectedIssuer} cannot be reached, or is in trouble.`;
    return [...causes, found("metadata-unreachable", message, mendBy(facts, ["login"], what))];
  }
  if (outcome === "absent") {
    return [...causes, found("metadata-missing", `The authorization server ${expectedIssuer} publishes no metadata.`)];
  }
  if (outcome === "default") return causes;
  const unsafe = look.endpoints.filter(({ defect }) => defect !== undefined);
  if (publishedIssuer !== undefined && publishedIssuer !== expectedIssuer && outcome === "invalid") {
    const message = `The metadata of ${expectedIssuer} says that it is of ${publishedIssuer}. It must be the same, letter by letter.`;
    causes.push(found("issuer-mismatch", message));
  } else if (unsafe.length > 0) {
    const list = unsafe.map(({ name, url, defect }) => `${name} (${url}): ${defect}`).join("; ");
    causes.push(found("endpoint-unsafe", `An endpoint of the authorization server must not be used: ${list}.`));
  } else if (outcome === "invalid") {
    causes.push(found("metadata-invalid", `What ${expectedIssuer} says of itself cannot be used.`));
  }
  if (outcome === "found" && !look.pkce?.includes("S256")) {
    const told =
      look.pkce === undefined ? "tells no methods of PKCE" : `offers PKCE as ${look.pkce.join(", ") || "nothing"}`;
    const message = `The authorization server ${expectedIssuer} ${told}. Without S256 a stolen code could be used, so nobody is sent there.`;
    causes.push(
      found("pkce-missing", message, {
        what: "Its operator has to switch PKCE with S256 on (code_challenge_methods_supported).",
      }),
    );
  }
  return causes;
}
