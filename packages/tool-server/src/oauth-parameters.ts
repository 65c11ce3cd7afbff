/**
 * Parameters of authorization requests and responses, and credentials, from the IANA registry of OAuth parameters, each with the setting
 * of a user that sets it. `audience` is missing, because some servers select a service with it. Includes parameters with which large
 * services grant more than `scope` says: `user_scope` (Slack), `optional_scope` (HubSpot), `include_granted_scopes` (Google).
 */
const parameters = {
  access_token: "none",
  acr_values: "authorizeParameters",
  authorization_details: "authorizeParameters",
  claims: "authorizeParameters",
  claims_locales: "authorizeParameters",
  client_assertion: "none",
  client_assertion_type: "none",
  client_id: "clientId",
  client_secret: "clientSecret",
  code: "none",
  code_challenge: "none",
  code_challenge_method: "none",
  code_verifier: "none",
  display: "authorizeParameters",
  dpop_jkt: "none",
  error: "none",
  error_description: "none",
  error_uri: "none",
  grant_type: "none",
  id_token: "none",
  id_token_hint: "authorizeParameters",
  include_granted_scopes: "authorizeParameters",
  iss: "none",
  login_hint: "authorizeParameters",
  max_age: "authorizeParameters",
  nonce: "none",
  optional_scope: "authorizeParameters",
  prompt: "prompt",
  redirect_uri: "none",
  refresh_token: "none",
  registration: "none",
  request: "none",
  request_uri: "none",
  resource: "resource",
  response_mode: "none",
  response_type: "none",
  scope: "scopes",
  state: "none",
  ui_locales: "authorizeParameters",
  user_scope: "authorizeParameters",
} as const;

const settings: ReadonlyMap<string, (typeof parameters)[keyof typeof parameters]> = new Map(Object.entries(parameters));

/**
 * The setting that sets an OAuth parameter; undefined if it is not one of OAuth. Reads the name as lenient servers do: case-insensitive,
 * `scope[]` as `scope`, and `client.id` as `client_id`.
 */
export function settingOfParameter(name: string): (typeof parameters)[keyof typeof parameters] | undefined {
  return settings.get((name.toLowerCase().split("[", 1)[0] ?? "").trim().replaceAll(/[. ]/g, "_"));
}
