/**
 * Parameters of authorization requests and responses, and credentials, from the IANA registry of OAuth parameters. `audience` is not
 * one of an authorization request; some servers choose by it which of their services is meant. Also those by which large
 * services grant more than `scope` says: `user_scope` (Slack), `optional_scope` (HubSpot), `include_granted_scopes` (Google).
 */
const names: ReadonlySet<string> = new Set([
  "access_token",
  "acr_values",
  "authorization_details",
  "claims",
  "claims_locales",
  "client_assertion",
  "client_assertion_type",
  "client_id",
  "client_secret",
  "code",
  "code_challenge",
  "code_challenge_method",
  "code_verifier",
  "display",
  "dpop_jkt",
  "error",
  "error_description",
  "error_uri",
  "grant_type",
  "id_token",
  "id_token_hint",
  "include_granted_scopes",
  "iss",
  "login_hint",
  "max_age",
  "nonce",
  "optional_scope",
  "prompt",
  "redirect_uri",
  "refresh_token",
  "registration",
  "request",
  "request_uri",
  "resource",
  "response_mode",
  "response_type",
  "scope",
  "state",
  "ui_locales",
  "user_scope",
]);

/**
 * An endpoint without the parameters of OAuth in its query: what is asked for is up to the client. RFC 6749 (3.1) keeps the rest, by
 * which servers choose a tenant or a policy.
 */
export function withoutOAuthParameters(endpoint: URL): URL {
  const url = new URL(endpoint);
  for (const name of new Set(url.searchParams.keys())) {
    if (names.has(plainName(name))) url.searchParams.delete(name);
  }
  return url;
}

/** A name as lenient servers read it: without regard to case, `scope[]` as `scope`, and `client.id` as `client_id`. */
function plainName(name: string): string {
  return (name.toLowerCase().split("[", 1)[0] ?? "").trim().replaceAll(/[. ]/g, "_");
}
