import { chooseClient } from "../clients/choose-client.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import { knownIssuer } from "../discovery/known-issuers.js";
import { requestStep, stepFields } from "../oauth-step.js";
import { requestTokens, resourceField } from "../tokens/token-request.js";
import type { Redirect } from "./ask.js";
import { type AttemptResult, type SignInAttempt, stoppedBeforeSignIn, waitForUser } from "./attempt.js";
import { createAuthorizationAttempt, parsePastedRedirect, processAuthorizationResponse } from "./authorization-code.js";
import { loopback } from "./loopback.js";

/** Lets a user sign in with a browser, using an authorization code with PKCE. Rejects with SIGN_IN_FAILED, and as its steps do. */
export async function signInByBrowser(attempt: SignInAttempt): Promise<AttemptResult> {
  const { context, server, clients, ask, returnTo } = attempt;
  // First, because the check whether a client is still registered uses that endpoint too.
  if (server.authorizationEndpoint !== undefined) await attempt.confirmOrigin(server.authorizationEndpoint);
  const { host = knownIssuer(server.issuer)?.callbackHost, port } = context.settings.redirect ?? {};
  const kept = (await clients.find(server))?.redirectUri;
  const redirect = await (ask.redirector ?? loopback).open(context, { host, port: port ?? portOf(kept, host) });
  try {
    const result = await authorize(attempt, redirect);
    const failure = "outcome" in result && result.outcome.kind === "refused" ? result.outcome.failure : undefined;
    await redirect.end({ failure, returnTo });
    return result;
  } catch (failure) {
    await redirect.end({ failure, returnTo });
    throw failure;
  }
}

async function authorize(attempt: SignInAttempt, redirect: Redirect): Promise<AttemptResult> {
  const { context, server, clients, rules, scopes, key, nonce, signal, isDryRun } = attempt;
  const { log, secrets, clock } = context;
  const { uri: redirectUri, state } = redirect;
  const requested = { redirectUri, state, rules, scopes, keyThumbprint: key?.thumbprint, nonce };
  const requestOf = (client: OAuthClient) => createAuthorizationAttempt(context, server, client, requested);
  const pageOf = (client: OAuthClient): URL => requestOf(client).url;
  const client = await chooseClient(context, { server, clients, redirectUri, isDryRun, pageOf, signal });
  const authorization = requestOf(client);
  const { url } = authorization;
  log.step(() => {
    const step = requestStep(secrets, { name: "authorization request", request: { method: "GET", url, headers: {} } });
    return isDryRun ? step : { ...step, outcome: "ok", isPlanned: undefined };
  });
  if (isDryRun) throw stoppedBeforeSignIn(context);
  const start = clock.now();
  const way = { kind: "browser", url: redirect.linkTo(url.href), redirectUri } as const;
  const waited = await waitForUser(attempt, way, (over, pasted) => Promise.race([redirect.receive(over), pasted]));
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
  const identity = nonce === undefined ? undefined : { clientId: client.clientId, nonce };
  return { client, outcome: await requestTokens(context, { server, client, form, key, identity, signal }) };
}

/** The port of an earlier redirect URI, if it is at the same host. */
function portOf(redirectUri: string | undefined, host = "127.0.0.1"): number | undefined {
  if (redirectUri === undefined) return undefined;
  const { hostname, port } = new URL(redirectUri);
  return hostname === host ? Number(port) : undefined;
}
