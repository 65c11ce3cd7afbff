import { createHash, randomBytes } from "node:crypto";
import { providerHint } from "../../../causes/provider-codes.js";
import type { ToolServerError } from "../../../errors.js";
import { parseUrl } from "../../../url.js";
import { chooseClient } from "../clients/choose-client.js";
import type { KnownClient } from "../clients/client-store.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import { knownIssuer, type RequestRules } from "../discovery/known-issuers.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure, peerText } from "../oauth-errors.js";
import { requestStep, stepFields } from "../oauth-step.js";
import { requestTokens, resourceField } from "../tokens/token-request.js";
import type { Redirect } from "./ask.js";
import type { AttemptResult, SignInAttempt } from "./attempt.js";

/** Lets a user sign in with a browser, using an authorization code with PKCE. Rejects with SIGN_IN_FAILED, and as its steps do. */
export async function signInByBrowser(attempt: SignInAttempt): Promise<AttemptResult> {
  const { context, server, clients, redirector, returnTo } = attempt;
  // First, because the check whether a client is still registered uses that endpoint too.
  if (server.authorizationEndpoint !== undefined) await attempt.confirmOrigin(server.authorizationEndpoint);
  const { host = knownIssuer(server.issuer)?.callbackHost, port } = context.settings.redirect ?? {};
  const known = await clients.find(server);
  const redirect = await redirector.open(context, { host, port: port ?? portOf(known?.redirectUri, host) });
  try {
    const result = await authorize(attempt, known, redirect);
    const outcome = result !== undefined && "outcome" in result ? result.outcome : undefined;
    const failure = outcome?.kind === "refused" ? outcome.failure : undefined;
    await redirect.end({ failure, returnTo });
    return result;
  } catch (failure) {
    await redirect.end({ failure, returnTo });
    throw failure;
  }
}

async function authorize(
  attempt: SignInAttempt,
  known: KnownClient | undefined,
  redirect: Redirect,
): Promise<AttemptResult> {
  const { context, server, clients, rules, scopes, key, nonce, signal, isDryRun } = attempt;
  const { log, secrets, clock } = context;
  const { uri: redirectUri, state } = redirect;
  const requested = { redirectUri, state, rules, scopes, keyThumbprint: key?.thumbprint, nonce };
  const requestOf = (client: OAuthClient) => createAuthorizationAttempt(context, server, client, requested);
  const pageOf = (client: OAuthClient): URL => requestOf(client).url;
  const client = await chooseClient(context, { server, clients, known, redirectUri, isDryRun, pageOf, signal });
  const authorization = requestOf(client);
  const { url } = authorization;
  log.step(() => {
    const step = requestStep(secrets, { name: "authorization request", request: { method: "GET", url, headers: {} } });
    return isDryRun ? step : { ...step, outcome: "ok", isPlanned: undefined };
  });
  if (isDryRun) return undefined;
  const start = clock.now();
  const way = { kind: "browser", url: redirect.linkTo(url.href), redirectUri } as const;
  const waited = await attempt.waitForUser(way, (over, pasted) => Promise.race([redirect.receive(over), pasted]));
  if ("held" in waited) return waited;
  const { reply } = waited;
  const parameters = typeof reply === "string" ? parsePastedRedirect(context, reply, redirectUri) : reply;
  log.step(() => ({
    name: "redirect",
    outcome: parameters.has("error") ? "failed" : "ok",
    url: redirectUri,
    received: stepFields(secrets, Object.fromEntries(parameters)),
    durationMs: Math.round(clock.now() - start),
  }));
  const form = {
    grant_type: "authorization_code",
    code: processAuthorizationResponse(context, authorization, parameters),
    redirect_uri: redirectUri,
    code_verifier: authorization.codeVerifier,
    ...resourceField(rules.resource),
  };
  const outcome = await requestTokens(context, { server, client, form, key, identity: { nonce }, signal });
  return { client, outcome };
}

/** The port of an earlier redirect URI, if it is at the same host. */
function portOf(redirectUri: string | undefined, host = "127.0.0.1"): number | undefined {
  if (redirectUri === undefined) return undefined;
  const { hostname, port } = new URL(redirectUri);
  return hostname === host ? Number(port) : undefined;
}

/** An authorization request, and what its response is compared with. */
export interface AuthorizationAttempt {
  /** The URL at which the user signs in. https, parsed and encoded again: safe to pass to a program as one argument. */
  readonly url: URL;
  /** The issuer whose metadata was used, exactly as published. */
  readonly issuer: string;
  /** Whether a response must contain its issuer. */
  readonly sendsIssuer: boolean;
  readonly state: string;
  readonly codeVerifier: string;
}

export interface AuthorizationParameters {
  readonly redirectUri: string;
  readonly state: string;
  readonly rules: RequestRules;
  readonly scopes: readonly string[];
  /** The thumbprint of the key to bind the tokens to (RFC 9449, section 10). */
  readonly keyThumbprint?: string | undefined;
  /** For an identity token (OpenID Connect). */
  readonly nonce?: string | undefined;
}

/** Creates an authorization request with PKCE (S256) and a state. Throws AUTHORIZATION_SERVER_INVALID if the server does not support it. */
export function createAuthorizationAttempt(
  context: OAuthContext,
  server: AuthorizationServer,
  client: OAuthClient,
  requested: AuthorizationParameters,
): AuthorizationAttempt {
  const { redirectUri, state, rules, scopes, keyThumbprint, nonce } = requested;
  const { authorizationEndpoint, publishedIssuer: issuer, sendsIssuer } = server;
  if (authorizationEndpoint === undefined) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem: "its authorization server has no authorization endpoint, so a sign-in with a browser is not possible.",
      advice: "Sign in by device, if it is supported, or ask its operator.",
    });
  }
  if (!rules.usesPkce) {
    throw oauthFailure(context, "AUTHORIZATION_SERVER_INVALID", {
      problem:
        "its authorization server does not support PKCE with S256 (code_challenge_methods_supported), so a stolen code could be used.",
      advice:
        "Ask its operator to enable it. If it supports PKCE but does not say so, set assumePkce in its OAuth settings.",
    });
  }
  const codeVerifier = randomBytes(32).toString("base64url");
  context.secrets.add(codeVerifier);
  const parameters = {
    // No "prompt=consent" by default: an organization may have consented for all of its users, and not allow them to consent.
    ...rules.parameters,
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
    code_challenge_method: "S256",
    state,
    ...(rules.resource === undefined ? {} : { resource: rules.resource }),
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    ...(keyThumbprint === undefined ? {} : { dpop_jkt: keyThumbprint }),
    ...(nonce === undefined ? {} : { nonce }),
  };
  const url = new URL(authorizationEndpoint);
  // Setting a parameter encodes the complete query again.
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url, issuer, sendsIssuer, state, codeVerifier };
}

type Expected = Pick<AuthorizationAttempt, "state" | "issuer" | "sendsIssuer">;

/**
 * The code of an authorization response. Its state and then its issuer (RFC 9207) are compared exactly, before anything
 * else in it is used or shown. Throws SIGN_IN_FAILED if they differ, or if it is an error response.
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
      throw failed(`the sign-in response contains ${name} twice, and was rejected.`);
  }
  if (parameters.get("state") !== expected.state) {
    throw failed(`the response belongs to another sign-in (its state differs), and was rejected.`);
  }
  const issuer = parameters.get("iss");
  if (issuer === null ? expected.sendsIssuer : issuer !== expected.issuer) {
    const what = issuer === null ? "does not name its issuer" : `is from ${JSON.stringify(peerText(context, issuer))}`;
    throw failed(
      `the sign-in response ${what}, but ${JSON.stringify(expected.issuer)} was expected. It was rejected: one server may be impersonating another.`,
      "Report this to the operator of the server.",
    );
  }
  const error = parameters.get("error");
  if (error !== null) {
    const received = [error, parameters.get("error_description")].filter((part) => part !== null);
    const said = received.map((part) => peerText(context, part)).join(": ");
    const parts = {
      problem: `the sign-in was refused: "${said}".`,
      advice: providerHint(said, expected.issuer)?.advice ?? adviceByError.get(error) ?? "Sign in again.",
    };
    throw oauthFailure(context, "SIGN_IN_FAILED", parts, { details: { said, issuer: expected.issuer } });
  }
  if (code === null || code === "") throw failed("the sign-in response contains neither a code nor an error.");
  return code;
}

// A Map, because the server chooses the key.
const adviceByError: ReadonlyMap<string, string> = new Map([
  ["access_denied", "Sign in again and allow it, or ask an administrator whether this client needs approval."],
  ["invalid_scope", "The server does not know the requested scopes: set others in the configuration."],
  ["unauthorized_client", "The client has to be approved by an administrator, or registered again."],
  ["server_error", "Try again later."],
  ["temporarily_unavailable", "Try again later."],
]);

const maxPasteLength = 16_384;

/**
 * The parameters of a redirect URL that a user copied from the address bar of a browser that cannot reach this machine. Its
 * query is enough. Throws SIGN_IN_FAILED if it is another url.
 */
export function parsePastedRedirect(context: OAuthContext, pasted: string, redirectUri: string): URLSearchParams {
  const text = pasted.trim().slice(0, maxPasteLength);
  const query = /^(?:\?|(?=(?:code|error|state|iss)=))(\S+)$/.exec(text)?.[1];
  if (query !== undefined) return new URLSearchParams(query);
  const expected = new URL(redirectUri);
  const url = parseUrl(text);
  if (url?.origin === expected.origin && url.pathname === expected.pathname) return url.searchParams;
  throw oauthFailure(context, "SIGN_IN_FAILED", {
    problem: `the pasted address is not the redirect of this sign-in, which starts with ${redirectUri}?.`,
    advice: "Copy the complete address, or sign in again.",
  });
}
