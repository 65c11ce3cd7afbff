import type { ToolServerError } from "../../../errors.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import { requestStep, stepFields } from "../oauth-step.js";
import { stepName } from "../requests/oauth-request.js";
import type { ClientStore, KnownClient } from "./client-store.js";
import type { OAuthClient } from "./oauth-client.js";
import { isClientDead, registrationRequest } from "./register-client.js";

export interface ClientChoice {
  readonly server: AuthorizationServer;
  readonly clients: ClientStore;
  /** The client that the store has found. */
  readonly known: KnownClient | undefined;
  /** The redirect URI, which is bound. */
  readonly redirectUri: string;
  /** Whether nothing may be registered, so that a planned registration is reported instead. */
  readonly isDryRun: boolean;
  /** The page of the authorization server for a client. Default: not checked whether the server still knows the client. */
  readonly pageOf?: ((client: OAuthClient) => URL) | undefined;
  readonly signal: AbortSignal;
}

/** The client to sign in with. One that the server no longer knows is registered again, once. Rejects with REGISTRATION_REFUSED. */
export async function chooseClient(context: OAuthContext, choice: ClientChoice): Promise<OAuthClient> {
  const { server, clients, known, redirectUri, isDryRun, signal } = choice;
  const { log, secrets } = context;
  // Without an endpoint, registering sends nothing and says why it fails.
  if (isDryRun && known === undefined && server.registrationEndpoint !== undefined) {
    const request = registrationRequest(server, redirectUri);
    log.step(() => requestStep(secrets, { name: stepName(request), request }));
    return { kind: "registered", clientId: "(assigned at the registration)", authentication: "none" };
  }
  const chosen =
    known === undefined
      ? await clients.register(server, redirectUri, signal)
      : isDryRun
        ? known
        : await checkKnown(context, choice, known);
  const { clientId, authentication, kind } = chosen.client;
  const fields = {
    chosen: chosen.isNew ? "registered just now" : origins[kind],
    client_id: clientId,
    token_endpoint_auth_method: authentication,
  };
  log.step(() => ({ name: "client", outcome: "ok", received: stepFields(secrets, fields) }));
  return chosen.client;
}

const origins: Readonly<Record<OAuthClient["kind"], string>> = {
  configured: "configured",
  "metadata-document": "client-id metadata document, which the authorization server supports",
  registered: "registered at an earlier sign-in",
};

async function checkKnown(context: OAuthContext, choice: ClientChoice, known: KnownClient): Promise<KnownClient> {
  const { server, clients, redirectUri, pageOf, signal } = choice;
  const { client } = known;
  if (pageOf === undefined) return known;
  // The configured redirect differs from the registered one.
  const isMoved = client.kind === "registered" && known.redirectUri !== redirectUri;
  if (isMoved) return clients.register(server, redirectUri, signal);
  if (client.kind !== "configured" && (await isClientDead(context, pageOf(client), signal))) {
    const isDropped = await clients.drop(server, client);
    if (client.kind === "metadata-document" && !isDropped)
      throw documentRefused(context, server.issuer, client.clientId);
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
