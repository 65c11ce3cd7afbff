import { stringOf } from "../../../json-object.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import {
  isPassingStatus,
  type OAuthAnswer,
  type OAuthRequest,
  peerErrorOf,
  sendOAuthRequest,
} from "../requests/oauth-request.js";
import type { ClientAuthentication, OAuthClient } from "./oauth-client.js";

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** A client that a registration gave. */
export interface RegisteredClient extends OAuthClient {
  /** When its secret expires, in milliseconds since the epoch; undefined where it does not. */
  readonly secretExpiresAt: number | undefined;
}

/** A request for dynamic registration (RFC 7591) of a native client with this redirect URI. Throws a TypeError where the server has no such endpoint. */
export function registrationRequest(server: AuthorizationServer, redirectUri: string): OAuthRequest {
  if (server.registrationEndpoint === undefined) throw new TypeError("The authorization server registers no clients.");
  const metadata = {
    client_name: "Wirescope",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token", ...(server.deviceEndpoint === undefined ? [] : [deviceGrant])],
    response_types: ["code"],
    token_endpoint_auth_method: authenticationToAskFor(server.authenticationMethods),
    application_type: "native",
  };
  return {
    method: "POST",
    url: server.registrationEndpoint,
    asked: "a registration",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(metadata),
  };
}

/** The client that an answer to a registration gives. Throws REGISTRATION_REFUSED, or SERVER_FAILED where it may pass. */
export function processRegistration(context: OAuthContext, answer: OAuthAnswer): RegisteredClient {
  const { status, json } = answer;
  const clientId = stringOf(json?.client_id);
  const clientSecret = stringOf(json?.client_secret);
  const accessToken = stringOf(json?.registration_access_token);
  for (const secret of [clientSecret, accessToken]) if (secret !== undefined) context.secrets.add(secret);
  if ((status === 200 || status === 201) && json !== undefined && clientId !== undefined) {
    const expiry = json.client_secret_expires_at;
    return {
      kind: "registered",
      clientId,
      clientSecret,
      authentication: authenticationGiven(stringOf(json.token_endpoint_auth_method), clientSecret),
      secretExpiresAt:
        clientSecret !== undefined && typeof expiry === "number" && expiry > 0 ? expiry * 1000 : undefined,
    };
  }
  if (isPassingStatus(status)) {
    const problem = `its authorization server responded with ${status} to the registration.`;
    throw oauthFailure(context, "SERVER_FAILED", { problem, advice: "Try again later." }, { details: { status } });
  }
  const { text, said } = peerErrorOf(context, answer);
  throw oauthFailure(
    context,
    "REGISTRATION_REFUSED",
    {
      problem: `its authorization server does not register this client (${text}).`,
      advice: "Register one by hand with its operator, and put the client id into the configuration.",
    },
    { details: { status, said } },
  );
}

function authenticationToAskFor(offered: readonly string[] | undefined): ClientAuthentication {
  const wanted: readonly ClientAuthentication[] = ["none", "client_secret_basic", "client_secret_post"];
  return (offered === undefined ? undefined : wanted.find((method) => offered.includes(method))) ?? "none";
}

/** How to authenticate, by what the registration says; by RFC 7591, a client with a secret and without a word uses Basic. */
function authenticationGiven(method: string | undefined, clientSecret: string | undefined): ClientAuthentication {
  if (clientSecret === undefined || method === "none") return "none";
  return method === "client_secret_post" ? "client_secret_post" : "client_secret_basic";
}

const complaint =
  /invalid[_ ]client|unauthorized[_ ]client|unknown[_ ]client|client[^.<]{0,40}(?:not found|does not exist|not registered|unknown|invalid)|redirect[_ ]uri/i;

/**
 * Whether the authorization server says of a registration that it does not know it. A browser would show that to a person and
 * send no answer back, so we ask first. Only a refusal that names the client or its redirect counts; all else is for the
 * browser to find out.
 */
export async function isClientDead(
  context: OAuthContext,
  authorizationUrl: URL,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    const request = {
      method: "GET",
      url: authorizationUrl,
      headers: { accept: "text/html, application/json" },
    } as const;
    const { status, body } = await sendOAuthRequest(
      context,
      { ...request, asked: "a look at the registration" },
      signal,
    );
    return [400, 401, 403, 404].includes(status) && complaint.test(body);
  } catch {
    signal?.throwIfAborted();
    return false;
  }
}
