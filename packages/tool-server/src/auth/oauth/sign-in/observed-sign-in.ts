import { commandLine } from "../../../command-line.js";
import type { ToolServerError } from "../../../errors.js";
import type { KnownClient } from "../clients/client-store.js";
import type { OAuthClient } from "../clients/oauth-client.js";
import { registrationRequest } from "../clients/register-client.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import { type OAuthStep, requestStep, stepFields } from "../oauth-step.js";
import { type OAuthRequest, stepName } from "../requests/oauth-request.js";

/** Reports which client a sign-in uses, and why. */
export function reportClient(
  { observer, secrets }: OAuthContext,
  { client, isNew }: Pick<KnownClient, "client" | "isNew">,
): void {
  if (observer === undefined) return;
  const { clientId, authentication } = client;
  const received = stepFields(secrets, {
    chosen: isNew ? "registered just now" : origins[client.kind],
    client_id: clientId,
    token_endpoint_auth_method: authentication,
  });
  observer.onStep({ name: "client", outcome: "ok", received });
}

const origins: Readonly<Record<OAuthClient["kind"], string>> = {
  configured: "configured",
  "metadata-document": "client-id metadata document, which the authorization server supports",
  registered: "registered at an earlier sign-in",
};

/** Reports the request that a browser sends for the user. */
export function reportAuthorizationRequest({ observer, secrets }: OAuthContext, url: URL): void {
  observer?.onStep({ ...authorizationStep(secrets, url), outcome: "ok", isPlanned: undefined });
}

function authorizationStep(secrets: OAuthContext["secrets"], url: URL): OAuthStep {
  return requestStep(secrets, { name: "authorization request", request: { method: "GET", url, headers: {} } });
}

/** Reports the redirect of the browser, before it is checked. */
export function reportRedirect(
  { observer, secrets }: OAuthContext,
  redirectUri: string,
  parameters: URLSearchParams,
  durationMs: number,
): void {
  observer?.onStep({
    name: "redirect",
    outcome: parameters.has("error") ? "failed" : "ok",
    url: redirectUri,
    received: stepFields(secrets, Object.fromEntries(parameters)),
    durationMs: Math.round(durationMs),
  });
}

/** What a sign-in would send next. */
export interface PlannedSignIn {
  readonly server: Parameters<typeof registrationRequest>[0];
  /** The client that would be used; undefined if one would be registered. */
  readonly known: KnownClient | undefined;
  readonly redirectUri: string;
  /** The page that would be opened, or the request that would be sent. */
  readonly next: URL | OAuthRequest;
}

/** The id of a client that is not registered yet, in planned requests. */
export const unregisteredId = "(assigned at the registration)";

/** Reports what a sign-in would send, and returns the error that ends it. */
export function stopBeforeSignIn(context: OAuthContext, planned: PlannedSignIn): ToolServerError {
  const { observer, secrets, server: name } = context;
  const { server, known, redirectUri, next } = planned;
  if (known !== undefined) reportClient(context, known);
  else {
    const request = registrationRequest(server, redirectUri);
    observer?.onStep(requestStep(secrets, { name: stepName(request), request }));
  }
  observer?.onStep(
    next instanceof URL
      ? authorizationStep(secrets, next)
      : requestStep(secrets, { name: stepName(next), request: next }),
  );
  const problem = "the flow stopped before the sign-in, as requested.";
  return oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice: `Sign in with: ${commandLine("login", name)}` });
}
