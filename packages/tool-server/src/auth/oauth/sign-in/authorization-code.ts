import { createHash, randomBytes } from "node:crypto";
import type { ToolServerError } from "../../../errors.js";
import { parseUrl } from "../../../url.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";

/** What is recorded before the browser is sent away, and what its answer is held against. */
export interface AuthorizationAttempt {
  /** Where the person signs in. https, parsed and written anew: safe to hand to a program as one argument. */
  readonly url: URL;
  /** The issuer whose metadata was used, exactly as it was published. */
  readonly issuer: string;
  /** Whether an answer has to name its issuer. */
  readonly sendsIssuer: boolean;
  readonly state: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

export interface AuthorizationWish {
  readonly redirectUri: string;
  /** What the token is for (RFC 8707). */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The thumbprint of the key that the tokens will be bound to (RFC 9449, section 10). */
  readonly keyThumbprint?: string | undefined;
}

/** Begins an authorization with PKCE (S256) and a state. Throws AUTHORIZATION_SERVER_INVALID if the server does not support it. */
export function createAuthorizationAttempt(
  context: OAuthContext,
  server: AuthorizationServer,
  client: OAuthClient,
  wish: AuthorizationWish,
): AuthorizationAttempt {
  const { redirectUri, resource, scopes, keyThumbprint } = wish;
  const { authorizationEndpoint, issuer, sendsIssuer } = server;
  if (authorizationEndpoint === undefined) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: "its authorization server has no authorization endpoint, so nobody can sign in with a browser there.",
      advice: "Sign in by device, if it offers that, or ask its operator.",
    });
  }
  if (!server.offersPkce) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem:
        "its authorization server does not offer PKCE with S256 (code_challenge_methods_supported), so a stolen code could be used.",
      advice: "Its operator has to switch it on.",
    });
  }
  const codeVerifier = randomBytes(32).toString("base64url");
  const state = randomBytes(32).toString("base64url");
  context.secrets.add(codeVerifier);
  const parameters = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
    code_challenge_method: "S256",
    state,
    resource,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    // OpenID Connect (11) gives offline access only where the person was asked for consent.
    ...(scopes.includes("offline_access") ? { prompt: "consent" } : {}),
    ...(keyThumbprint === undefined ? {} : { dpop_jkt: keyThumbprint }),
  };
  const url = new URL(authorizationEndpoint);
  // To set one writes the whole query anew, so that everything in it is encoded.
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url, issuer, sendsIssuer, state, codeVerifier, redirectUri };
}

type Expected = Pick<AuthorizationAttempt, "state" | "issuer" | "sendsIssuer">;

/**
 * The code that an authorization response carries. Its state and then its issuer (RFC 9207) are compared, as they are, before anything
 * else of it is believed or shown. Throws SIGN_IN_FAILED where they differ, or where it carries an error.
 */
export function processAuthorizationResponse(
  context: OAuthContext,
  expected: Expected,
  parameters: URLSearchParams,
): string {
  const code = parameters.get("code");
  if (code !== null) context.secrets.add(code);
  const failed = (problem: string, advice = "Sign in again."): ToolServerError =>
    oauthFailure(context, "SIGN_IN_FAILED", { problem, advice });
  for (const name of ["state", "iss", "code", "error"]) {
    if (parameters.getAll(name).length > 1)
      throw failed(`the response to the sign-in has ${name} twice, and was not used.`);
  }
  if (!isStateOf(expected, parameters)) {
    throw failed(`the response belongs to another sign-in (its state differs), and was not used.`);
  }
  const issuer = parameters.get("iss");
  if (issuer === null ? expected.sendsIssuer : issuer !== expected.issuer) {
    const what =
      issuer === null ? "does not say who gave it" : `was given by ${JSON.stringify(peerText(context, issuer))}`;
    throw failed(
      `the response to the sign-in ${what}, and ${JSON.stringify(expected.issuer)} was asked. It was not used: a server may be passing itself off as another.`,
      "Report this to the operator of the server.",
    );
  }
  const error = parameters.get("error");
  if (error !== null) {
    const words = [error, parameters.get("error_description")].filter((part) => part !== null);
    const said = words.map((part) => peerText(context, part)).join(": ");
    const parts = { problem: `the sign-in was refused: "${said}".`, advice: adviceOf(error) };
    throw oauthFailure(context, "SIGN_IN_FAILED", parts, { details: { said } });
  }
  if (code === null || code === "") throw failed("the response to the sign-in carries neither a code nor an error.");
  return code;
}

/** Whether a response belongs to the attempt. */
export function isStateOf({ state }: Pick<Expected, "state">, parameters: URLSearchParams): boolean {
  return parameters.get("state") === state;
}

function adviceOf(error: string): string {
  switch (error) {
    case "access_denied":
      return "Sign in again and allow it, or ask an administrator whether this client needs approval.";
    case "invalid_scope":
      return "The permissions that were asked for are not known there: set them in the configuration.";
    case "unauthorized_client":
      return "The client has to be approved by an administrator, or registered again.";
    case "server_error":
    case "temporarily_unavailable":
      return "Try again later.";
    default:
      return "Sign in again.";
  }
}

const longestPaste = 16_384;

/**
 * The parameters of a redirect URL that a person copied from the address bar of a browser which could not reach this machine;
 * its query alone does as well. Throws SIGN_IN_FAILED where it is the url of something else.
 */
export function parsePastedRedirect(context: OAuthContext, pasted: string, redirectUri: string): URLSearchParams {
  const text = pasted.trim().slice(0, longestPaste);
  const query = /^(?:\?|(?=(?:code|error|state|iss)=))(\S+)$/.exec(text)?.[1];
  if (query !== undefined) return new URLSearchParams(query);
  const expected = new URL(redirectUri);
  const url = parseUrl(text);
  if (url?.origin === expected.origin && url.pathname === expected.pathname) return url.searchParams;
  throw oauthFailure(context, "SIGN_IN_FAILED", {
    problem: `what was pasted is not the address that the browser was sent to, which begins with ${redirectUri}?.`,
    advice: "Copy it whole, or sign in again.",
  });
}
