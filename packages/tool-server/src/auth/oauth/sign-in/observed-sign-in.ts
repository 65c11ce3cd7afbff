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
  { log, secrets }: OAuthContext,
  { client, isNew }: Pick<KnownClient, "client" | "isNew">,
): void {
  const { clientId, authentication } = client;
  const chosen = isNew ? "registered just now" : origins[client.kind];
  const fields = { chosen, client_id: clientId, token_endpoint_auth_method: authentication };
  log.step(() => ({ name: "client", outcome: "ok", received: stepFields(secrets, fields) }));
}

const origins: Readonly<Record<OAuthClient["kind"], string>> = {
  configured: "configured",
  "metadata-document": "client-id metadata document, which the authorization server supports",
  registered: "registered at an earlier sign-in",
};

/** Reports the request that a browser sends for the user. */
export function reportAuthorizationRequest({ log, secrets }: OAuthContext, url: URL): void {
  log.step(() => ({ ...authorizationStep(secrets, url), outcome: "ok", isPlanned: undefined }));
}

function authorizationStep(secrets: OAuthContext["secrets"], url: URL): OAuthStep {
  return requestStep(secrets, { name: "authorization request", request: { method: "GET", url, headers: {} } });
}

/** Reports the redirect of the browser, before it is checked. */
export function reportRedirect(
  { log, secrets }: OAuthContext,
  redirectUri: string,
  parameters: URLSearchParams,
  durationMs: number,
): void {
  log.step(() => ({
    name: "redirect",
    outcome: parameters.has("error") ? "failed" : "ok",
    url: redirectUri,
    received: stepFields(secrets, Object.fromEntries(parameters)),
    durationMs: Math.round(durationMs),
  }));
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
  const { log, secrets, server: name } = context;
  const { server, known, redirectUri, next } = planned;
  if (known !== undefined) reportClient(context, known);
  else {
    log.step(() => {
      const request = registrationRequest(server, redirectUri);
      return requestStep(secrets, { name: stepName(request), request });
    });
  }
  log.step(() =>
    next instanceof URL
      ? authorizationStep(secrets, next)
      : requestStep(secrets, { name: stepName(next), request: next }),
  );
  const problem = "the flow stopped before the sign-in, as requested.";
  return oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice: `Sign in with: ${commandLine("login", name)}` });
}
