import { type Statement, states } from "../../../causes/peer-text.js";
import { stringOf } from "../../../json-object.js";
import { textOfPage } from "../../../page-text.js";
import { parseUrl } from "../../../url.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import {
  isTransientStatus,
  type OAuthRequest,
  type OAuthResponse,
  peerErrorOf,
  sendOAuthRequest,
} from "../requests/oauth-request.js";
import type { ClientAuthentication, OAuthClient } from "./oauth-client.js";

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** The client of a registration response. */
export interface RegisteredClient extends OAuthClient {
  /** When its secret expires, in milliseconds since the epoch; undefined if it does not. */
  readonly secretExpiresAt: number | undefined;
}

/** A dynamic registration request (RFC 7591) for a native client. Throws a TypeError if the server has no registration endpoint. */
export function registrationRequest(server: AuthorizationServer, redirectUri: string): OAuthRequest {
  if (server.registrationEndpoint === undefined)
    throw new TypeError("The authorization server has no registration endpoint.");
  const metadata = {
    client_name: "Wirescope",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token", ...(server.deviceEndpoint === undefined ? [] : [deviceGrant])],
    response_types: ["code"],
    token_endpoint_auth_method: requestedAuthentication(server.authenticationMethods),
    application_type: "native",
  };
  return {
    method: "POST",
    url: server.registrationEndpoint,
    requested: "a registration",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(metadata),
  };
}

/** The id is part of the URL that a browser opens. Some servers issue ids that contain the registration, of a few KiB. */
const maxClientIdLength = 8192;

/** Parses a registration response. Throws REGISTRATION_REFUSED, or SERVER_FAILED if it is transient. */
export function processRegistration(
  context: OAuthContext,
  server: AuthorizationServer,
  response: OAuthResponse,
): RegisteredClient {
  const { status, json } = response;
  const clientId = stringOf(json?.client_id);
  const clientSecret = stringOf(json?.client_secret);
  const accessToken = stringOf(json?.registration_access_token);
  for (const secret of [clientSecret, accessToken]) if (secret !== undefined) context.secrets.add(secret);
  if ((status === 200 || status === 201) && clientId !== undefined && clientId.length > maxClientIdLength) {
    const problem = `its authorization server registered a client whose id is longer than ${maxClientIdLength} characters.`;
    const advice =
      "Report this to its operator, or register a client manually and set clientId in the oauth settings of the server.";
    throw oauthFailure(context, "REGISTRATION_REFUSED", { problem, advice }, { details: { status } });
  }
  if ((status === 200 || status === 201) && json !== undefined && clientId !== undefined) {
    const expiry = json.client_secret_expires_at;
    return {
      kind: "registered",
      clientId,
      clientSecret,
      authentication: issuedAuthentication(stringOf(json.token_endpoint_auth_method), clientSecret),
      secretExpiresAt:
        clientSecret !== undefined && typeof expiry === "number" && expiry > 0 ? expiry * 1000 : undefined,
    };
  }
  if (isTransientStatus(status)) {
    const problem = `the client registration at its authorization server failed with status ${status}.`;
    throw oauthFailure(context, "SERVER_FAILED", { problem, advice: "Try again later." }, { details: { status } });
  }
  const { text, said } = peerErrorOf(context, response);
  if (server.isAssumed) {
    const problem = `it requires a credential, publishes no OAuth metadata, and does not register clients (${text}).`;
    const advice =
      "It probably requires a token or an API key: send it in a header, such as 'Authorization: Bearer ${API_TOKEN}', and set the variable.";
    throw oauthFailure(context, "REGISTRATION_REFUSED", { problem, advice }, { details: { status, said } });
  }
  const problem = `its authorization server refused the client registration (${text}).`;
  const advice = "Register a client manually with its operator, and set clientId in the oauth settings of the server.";
  throw oauthFailure(context, "REGISTRATION_REFUSED", { problem, advice }, { details: { status, said } });
}

function requestedAuthentication(offered: readonly string[] | undefined): ClientAuthentication {
  const preferred: readonly ClientAuthentication[] = ["none", "client_secret_basic", "client_secret_post"];
  return (offered === undefined ? undefined : preferred.find((method) => offered.includes(method))) ?? "none";
}

/** How to authenticate after a registration; RFC 7591 says Basic for a client with a secret and no stated method. */
function issuedAuthentication(method: string | undefined, clientSecret: string | undefined): ClientAuthentication {
  if (clientSecret === undefined || method === "none") return "none";
  return method === "client_secret_post" ? "client_secret_post" : "client_secret_basic";
}

/** The error codes about a client that the authorization server does not know: those of RFC 6749, and some that servers add. */
const unknownClientCodes: ReadonlySet<string> = new Set([
  "invalid_client",
  "unauthorized_client",
  "unknown_client",
  "unregistered_client",
  "unrecognized_client",
  "invalid_application",
  "unauthorized_application",
  "unknown_application",
]);

/** Whether an error code, in a redirect, says that the authorization server does not know the client. */
export function isUnknownClientCode(code: string): boolean {
  return unknownClientCodes.has(code.toLowerCase());
}

/** The defects of a client that the page of an authorization endpoint can state. */
export type ClientDefect = Extract<Statement, "client-unknown" | "client-document" | "redirect-wrong">;

/**
 * What is wrong with a client, according to the response of an authorization endpoint that refuses it without a redirect: a page for the
 * user, because such an error must not be sent to the client (RFC 6749, 4.1.2.1). The redirect first, as such a page may also name the client.
 */
export function clientDefectIn({ status, body }: Pick<OAuthResponse, "status" | "body">): ClientDefect | undefined {
  if (![400, 401, 403, 404, 422].includes(status)) return undefined;
  const text = textOfPage(body);
  const defects: readonly ClientDefect[] = ["redirect-wrong", "client-unknown", "client-document"];
  return defects.find((defect) => states(text, defect));
}

/**
 * Whether the authorization server does not know a client: a registration that it deleted, or a document that it cannot read. A browser
 * would show that to the user and send no response, so we check first. Only an error that names the client or its redirect counts; the
 * browser shows all others.
 */
export async function isClientDead(
  context: OAuthContext,
  authorizationUrl: URL,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    const request: OAuthRequest = {
      method: "GET",
      url: authorizationUrl,
      requested: "a check of the registration",
      headers: { accept: "text/html, application/json" },
    };
    const response = await sendOAuthRequest(context, request, signal);
    const error = parseUrl(response.headers.location ?? "")?.searchParams.get("error") ?? "";
    return isUnknownClientCode(error) || clientDefectIn(response) !== undefined;
  } catch {
    signal?.throwIfAborted();
    return false;
  }
}
