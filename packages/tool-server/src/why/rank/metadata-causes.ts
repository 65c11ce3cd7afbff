import type { Cause, Fix } from "../../causes/cause.js";
import type { CauseCode } from "../../causes/cause-table.js";
import { fixByCommand, fixField } from "../../causes/fixes.js";
import type { AuthorizationServerEvidence, OAuthEvidence, WalkEvidence } from "../evidence.js";

/** What to do if a server names another authorization server than before. */
export const confirmIssuer = "Ask the operator of the server. If the change is intended, sign in again and confirm it.";

const reportToOperator: Fix = {
  advice:
    "Report it to the operator of the server. Until it is fixed, use a token in headers if the server accepts one.",
};

/** What is wrong with the metadata of a tool server and its authorization server: no sign-in can succeed then. */
export function metadataCauses(seen: WalkEvidence, { resource, authorization }: OAuthEvidence): Cause[] {
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
    causes.push(found("issuer-changed", problem, fixByCommand(seen, ["login"], confirmIssuer), 0.99));
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
    causes.push(found("issuer-mismatch", problem));
  } else if (unsafe.length > 0) {
    const list = unsafe.map(({ name, url, defect }) => `${name} (${url}): ${defect}`).join("; ");
    causes.push(found("endpoint-unsafe", `An endpoint of the authorization server is not safe to use: ${list}.`));
  } else if (outcome === "invalid") {
    causes.push(found("metadata-invalid", `The metadata of ${expectedIssuer} is invalid.`));
  }
  if (outcome === "found" && !pkce?.includes("S256")) {
    const methods = pkce === undefined ? "lists no PKCE methods" : `supports only PKCE ${pkce.join(", ") || "nothing"}`;
    const problem = `The authorization server ${expectedIssuer} ${methods}. Without S256 a stolen code could be used, so sign-in is refused.`;
    const advice = "Ask its operator to enable PKCE with S256 (code_challenge_methods_supported).";
    causes.push(found("pkce-missing", problem, { advice }));
  }
  return causes;
}
