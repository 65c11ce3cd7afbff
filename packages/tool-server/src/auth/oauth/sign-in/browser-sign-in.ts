import type { ToolServerError } from "../../../errors.js";
import type { KnownClient } from "../clients/client-store.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import { isClientDead } from "../clients/register-client.js";
import { knownIssuer } from "../discovery/known-issuers.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import { requestTokens, resourceField } from "../tokens/token-request.js";
import {
  type AuthorizationParameters,
  createAuthorizationAttempt,
  parsePastedRedirect,
  processAuthorizationResponse,
} from "./authorization-code.js";
import { type CallbackReceiver, openCallbackReceiver } from "./callback-receiver.js";
import {
  reportAuthorizationRequest,
  reportClient,
  reportRedirect,
  stopBeforeSignIn,
  unregisteredId,
} from "./observed-sign-in.js";
import { type SignIn, type SignInContext, type SignInOutcome, type SignInRequest, tokenOriginOf } from "./sign-in.js";

/** Lets a user sign in with a browser, using an authorization code with PKCE. Rejects with SIGN_IN_FAILED, and as its steps do. */
export async function signInByBrowser(flow: SignInContext): Promise<SignInOutcome> {
  const { context, discovery, clients, signal } = flow;
  const { server } = discovery;
  const host = flow.redirect.host ?? knownIssuer(server.issuer)?.callbackHost;
  // First, because the check whether a client is still registered uses that endpoint too.
  if (server.authorizationEndpoint !== undefined) await flow.confirmOrigin(server.authorizationEndpoint, signal);
  const known = await clients.find(server);
  const receiver = await openCallbackReceiver(
    context,
    { host, port: flow.redirect.port ?? keptPort(known, host) },
    (text) => flow.signIn.notify?.(text),
  );
  const { returnTo } = flow.signIn;
  try {
    if (flow.isDryRun) await stopHere(flow, known, receiver.redirectUri);
    const chosen = await clientFor(flow, known, receiver.redirectUri);
    reportClient(context, chosen);
    const { client } = chosen;
    const attempt = createAuthorizationAttempt(context, server, client, parametersOf(flow, receiver.redirectUri));
    reportAuthorizationRequest(context, attempt.url);
    const request: SignInRequest = {
      server: context.server,
      issuer: server.issuer,
      tokenOrigin: tokenOriginOf(server),
      reason: flow.reason,
      scopes: flow.scopes,
      newScopes: flow.newScopes,
      way: { kind: "browser", url: attempt.url.href, redirectUri: receiver.redirectUri },
      vault: flow.vault,
    };
    const start = context.clock.now();
    const redirected = await waitForRedirect(flow.signIn, request, receiver, attempt.state, signal);
    const parameters =
      typeof redirected === "string" ? parsePastedRedirect(context, redirected, receiver.redirectUri) : redirected;
    reportRedirect(context, receiver.redirectUri, parameters, context.clock.now() - start);
    const code = processAuthorizationResponse(context, attempt, parameters);
    const form = {
      grant_type: "authorization_code",
      code,
      redirect_uri: attempt.redirectUri,
      code_verifier: attempt.codeVerifier,
      ...resourceField(flow.rules.resource),
    };
    const outcome = await requestTokens(context, { server, client, form, key: flow.key, signal });
    const failure = outcome.kind === "refused" ? outcome.failure : undefined;
    await receiver.finish({ failure, returnTo });
    return { client, outcome };
  } catch (failure) {
    await receiver.finish({ failure, returnTo });
    throw failure;
  } finally {
    await receiver.close();
  }
}

/** Ends the sign-in before it changes anything. Rejects with SIGN_IN_NEEDED, or with the reason why it cannot succeed. */
async function stopHere(flow: SignInContext, known: KnownClient | undefined, redirectUri: string): Promise<never> {
  const { context, discovery, clients, signal } = flow;
  const { server } = discovery;
  // Without an endpoint it sends nothing, and says why it fails.
  if (known === undefined && server.registrationEndpoint === undefined)
    await clients.register(server, redirectUri, signal);
  const client: OAuthClient = known?.client ?? { kind: "registered", clientId: unregisteredId, authentication: "none" };
  const { url } = createAuthorizationAttempt(context, server, client, parametersOf(flow, redirectUri));
  throw stopBeforeSignIn(context, { server, known, redirectUri, next: url });
}

/** The client for a redirect URI that is bound. A client that is no longer known is registered again, once. */
async function clientFor(
  flow: SignInContext,
  known: KnownClient | undefined,
  redirectUri: string,
): Promise<KnownClient> {
  const { context, discovery, clients, signal } = flow;
  const { server } = discovery;
  if (known === undefined) return clients.register(server, redirectUri, signal);
  const { client } = known;
  if (client.kind === "configured") {
    await clients.keepRedirect(server, client, redirectUri);
    return known;
  }
  // The configured redirect differs from the registered one.
  if (client.kind === "registered" && known.redirectUri !== redirectUri) {
    return clients.register(server, redirectUri, signal);
  }
  const probe = createAuthorizationAttempt(context, server, client, parametersOf(flow, redirectUri));
  if (await isClientDead(context, probe.url, signal)) {
    if (client.kind === "registered") await clients.drop(server, client);
    else if (!(await clients.drop(server, client))) throw documentRefused(context, server.issuer, client.clientId);
    return clients.register(server, redirectUri, signal);
  }
  await clients.keepRedirect(server, client, redirectUri);
  return known;
}

function documentRefused(context: OAuthContext, issuer: string, url: string): ToolServerError {
  return oauthFailure(context, "REGISTRATION_REFUSED", {
    problem: `its authorization server ${issuer} does not accept the client-id metadata document ${url}, and registers no clients.`,
    advice:
      "Check that it can read the document at that address. Otherwise set clientMetadataUrl, or clientId, in the oauth settings of the server.",
  });
}

function parametersOf({ rules, scopes, key }: SignInContext, redirectUri: string): AuthorizationParameters {
  return { redirectUri, rules, scopes, keyThumbprint: key?.thumbprint };
}

/** The first to arrive: the response of the browser, or the address that the user pasted. */
export async function waitForRedirect(
  signIn: SignIn,
  request: SignInRequest,
  receiver: CallbackReceiver,
  state: string,
  signal: AbortSignal,
): Promise<URLSearchParams | string> {
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const received = receiver.receive(state, both);
  received.catch(() => undefined);
  try {
    const start = async (): Promise<URLSearchParams | string> =>
      (await signIn.begin(request, both))?.pasted ?? received;
    const replied = start();
    replied.catch(() => undefined);
    return await Promise.race([received, replied]);
  } finally {
    over.abort(new DOMException("The sign-in has ended.", "AbortError"));
  }
}

function keptPort(known: KnownClient | undefined, host = "127.0.0.1"): number | undefined {
  if (known?.redirectUri === undefined) return undefined;
  const { hostname, port } = new URL(known.redirectUri);
  return hostname === host ? Number(port) : undefined;
}
