import { stringOf } from "../../../json-object.js";
import {
  authenticateClient,
  type ConfiguredClient,
  chooseAuthentication,
  type OAuthClient,
  readClientKey,
} from "../clients/oauth-client.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";
import { parseEndpoint } from "../requests/endpoint-rules.js";
import { formRequest, isTransientStatus, peerErrorOf, sendOAuthRequest } from "../requests/oauth-request.js";
import { type GrantForm, resourceField, scopeField } from "./token-request.js";

/** A way to get tokens without a user. */
export type MachineGrant =
  /** The configured client acts for itself. */
  | { readonly kind: "client-credentials" }
  /** A workload proves its identity with an assertion of its platform (RFC 7523); requested for each token. */
  | { readonly kind: "workload"; readonly assertion: () => Promise<string> }
  /** An organization's identity provider grants access for a user who signed in with it (ID-JAG). */
  | {
      readonly kind: "enterprise";
      /** The url of the provider, as configured. */
      readonly url: string;
      /** A valid identity token of the user; requested for each access token. */
      readonly identity: () => Promise<Identity>;
    };

/** The name of a grant, which is stored with its tokens. */
export function grantName(grant: Pick<MachineGrant, "kind"> & { readonly url?: string }): string {
  return grant.url === undefined ? grant.kind : `${grant.kind} ${grant.url}`;
}

/** A user's identity token, and the provider that exchanges it. */
export interface Identity {
  readonly provider: IdentityProvider;
  readonly idToken: string;
  /** The user (`sub`), if known. */
  readonly subject?: string | undefined;
}

/** An identity provider that exchanges tokens, and the client that it knows. */
export interface IdentityProvider {
  /** Its token exchange endpoint; https. */
  readonly tokenEndpoint: string;
  /** Its issuer, for a client that signs. Default: the origin of the endpoint. */
  readonly issuer?: string | undefined;
  readonly client: ConfiguredClient;
}

/** The token request of a grant, and the user it is for, if known. Rejects with TOKEN_REFUSED if the identity provider refuses. */
export async function machineGrantForm(
  context: OAuthContext,
  grant: MachineGrant,
  { server, resource }: { readonly server: AuthorizationServer; readonly resource: string | undefined },
  scopes: readonly string[],
): Promise<{ readonly form: GrantForm; readonly subject?: string | undefined }> {
  const common = { ...resourceField(resource), ...scopeField(scopes) };
  if (grant.kind === "client-credentials") return { form: { grant_type: "client_credentials", ...common } };
  // RFC 7523.
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  if (grant.kind === "workload") {
    const assertion = await grant.assertion();
    context.secrets.add(assertion);
    return { form: { grant_type, assertion, ...common } };
  }
  const identity = await grant.identity();
  const assertion = await requestAssertion(context, identity, { audience: server.publishedIssuer, ...common });
  return { form: { grant_type, assertion, ...common }, subject: identity.subject };
}

const tokenType = "urn:ietf:params:oauth:token-type:";

/** Exchanges a user's identity token for an assertion that another authorization server accepts (RFC 8693). */
async function requestAssertion(
  context: OAuthContext,
  { provider: { tokenEndpoint, issuer, client: configured }, idToken }: Identity,
  parameters: GrantForm,
): Promise<string> {
  context.secrets.add(idToken);
  const url = parseEndpoint(tokenEndpoint, context);
  if (typeof url === "string") throw new TypeError(`The token endpoint of the identity provider is invalid: ${url}.`);
  const { clientId, clientSecret } = configured;
  if (clientSecret !== undefined) context.secrets.add(clientSecret);
  const key = readClientKey(configured);
  const authentication = configured.authentication ?? chooseAuthentication({ clientSecret, key }, undefined);
  const client: OAuthClient = { kind: "configured", clientId, clientSecret, key, authentication };
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: `${tokenType}id-jag`,
    subject_token: idToken,
    subject_token_type: `${tokenType}id_token`,
    ...parameters,
  });
  const headers = await authenticateClient(context, { publishedIssuer: issuer ?? url.origin }, client, form);
  const request = formRequest(url, form, "an assertion", headers);
  const response = await sendOAuthRequest(context, { ...request, limitMs: context.limits.tokenMs });
  const { status, json } = response;
  const assertion = stringOf(json?.access_token);
  if (assertion !== undefined) context.secrets.add(assertion);
  if (status === 200 && assertion !== undefined && json?.error === undefined) {
    const issued = stringOf(json?.issued_token_type);
    if (issued === undefined || issued === `${tokenType}id-jag`) return assertion;
    const problem = `its identity provider issued a token of another type: ${peerText(context, issued)}.`;
    const advice = "Ask its administrator whether it supports identity assertions (ID-JAG) for this client.";
    throw oauthFailure(context, "TOKEN_REFUSED", { problem, advice }, { details: { status } });
  }
  const { text, said } = peerErrorOf(context, response);
  const code = isTransientStatus(status) ? "SERVER_FAILED" : "TOKEN_REFUSED";
  const problem = `its identity provider refused access (${text}).`;
  const advice = "Sign in there again, or ask an administrator for access.";
  throw oauthFailure(context, code, { problem, advice }, { details: { status, said } });
}
