import type { AuthorizationAttempt } from "../authorization/authorization-attempt.js";
import { deviceGrant } from "../registration/register-client.js";

/** The parameters of a token request. */
export type GrantForm = Readonly<Record<string, string>>;

/** A code for tokens. */
export function codeGrant(
  attempt: Pick<AuthorizationAttempt, "codeVerifier" | "redirectUri">,
  code: string,
  resource: string,
): GrantForm {
  const { codeVerifier, redirectUri } = attempt;
  return { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: codeVerifier, resource };
}

/** A refresh token for tokens, with the permissions that it has. */
export function refreshGrant(refreshToken: string, resource: string): GrantForm {
  return { grant_type: "refresh_token", refresh_token: refreshToken, resource };
}

/** The code of a device for tokens (RFC 8628). */
export function deviceCodeGrant(deviceCode: string, resource: string): GrantForm {
  return { grant_type: deviceGrant, device_code: deviceCode, resource };
}

/** A client's own tokens. */
export function clientCredentialsGrant(resource: string, scopes: readonly string[]): GrantForm {
  return { grant_type: "client_credentials", resource, ...scopeField(scopes) };
}

/** An assertion of another for tokens (RFC 7523): a workload's identity, or what an identity provider grants a person. */
export function assertionGrant(assertion: string, resource: string, scopes: readonly string[]): GrantForm {
  return {
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion,
    resource,
    ...scopeField(scopes),
  };
}

function scopeField(scopes: readonly string[]): GrantForm {
  return scopes.length === 0 ? {} : { scope: scopes.join(" ") };
}
