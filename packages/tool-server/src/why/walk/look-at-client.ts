import { createClientStore } from "../../auth/oauth/clients/client-store.js";
import type { OAuthClient } from "../../auth/oauth/clients/oauth-client.js";
import type { AuthorizationServer } from "../../auth/oauth/discovery/authorization-server.js";
import type { OAuthContext } from "../../auth/oauth/oauth-context.js";
import { peerText, urlText } from "../../auth/oauth/oauth-errors.js";
import { type OAuthAnswer, sendOAuthRequest } from "../../auth/oauth/requests/oauth-request.js";
import { type OAuthSessionOptions, vaultKeyOf } from "../../auth/oauth/session/session-options.js";
import { createAuthorizationAttempt } from "../../auth/oauth/sign-in/authorization-code.js";
import { ToolServerError } from "../../errors.js";
import { parseUrl } from "../../url.js";
import type { ClientLook } from "../oauth-facts.js";

export interface ClientQuestion {
  readonly options: OAuthSessionOptions;
  readonly server: AuthorizationServer;
  /** What the tokens are for. */
  readonly resource: string;
  readonly signal: AbortSignal;
}

/**
 * Looks whether the authorization server still knows the client that a sign-in would use, and its redirect URI: the page
 * that a browser would be sent to is asked for, as it is before a sign-in, and nothing that it leads to. No client is registered.
 */
export async function lookAtClient(context: OAuthContext, question: ClientQuestion): Promise<ClientLook> {
  const { options, server, resource, signal } = question;
  const clients = createClientStore(context, {
    vault: options.vault,
    keyOf: (issuer) => vaultKeyOf(options, issuer, "client"),
    configured: options.client,
    metadataUrl: options.clientMetadataUrl,
  });
  const known = await clients.find(server);
  if (known === undefined) return unregistered(context, server);
  const { client, redirectUri } = known;
  const base = {
    kind: client.kind,
    redirectUri: redirectUri === undefined ? undefined : peerText(context, redirectUri),
  };
  if (redirectUri === undefined || server.authorizationEndpoint === undefined || !server.offersPkce) {
    return { ...base, outcome: "unclear", evidence: [`A client is there (${client.kind}), and was not tried.`] };
  }
  try {
    const answer = await ask(context, server, client, { redirectUri, resource, scopes: [] }, signal);
    return { ...base, ...judgeClientAnswer(context, answer, redirectUri) };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return { ...base, outcome: "unclear", evidence: [error.message] };
  }
}

function unregistered(context: OAuthContext, { registrationEndpoint, issuer }: AuthorizationServer): ClientLook {
  const isOpen = registrationEndpoint !== undefined;
  const words = isOpen
    ? `A sign-in registers a client at ${urlText(context, registrationEndpoint)}.`
    : `${peerText(context, issuer)} has no registration endpoint, and there is no client of the configuration.`;
  return { kind: "none", outcome: isOpen ? "to-register" : "closed", redirectUri: undefined, evidence: [words] };
}

async function ask(
  context: OAuthContext,
  server: AuthorizationServer,
  client: OAuthClient,
  wish: Parameters<typeof createAuthorizationAttempt>[3],
  signal: AbortSignal,
): Promise<OAuthAnswer> {
  const { url } = createAuthorizationAttempt(context, server, client, wish);
  const headers = { accept: "text/html, application/json" };
  return sendOAuthRequest(context, { method: "GET", url, headers, asked: "a look at the client" }, signal);
}

const unknownClient =
  /invalid[_ ]client|unauthorized[_ ]client|unknown[_ ]client|client[^.<]{0,40}(?:not found|does not exist|not registered|unknown|invalid|disabled)/i;
const wrongRedirect = /redirect[_ ]?ur[il]/i;

/** What the answer of an authorization endpoint says of the client. Where it sends a browser to is not followed, and its query not told. */
export function judgeClientAnswer(
  context: Pick<OAuthContext, "secrets">,
  { status, headers, body }: Pick<OAuthAnswer, "status" | "headers" | "body">,
  redirectUri: string,
): Pick<ClientLook, "outcome" | "evidence"> {
  const words = (outcome: ClientLook["outcome"], text: string): Pick<ClientLook, "outcome" | "evidence"> => ({
    outcome,
    evidence: [`The authorization endpoint answers ${status}${text}`],
  });
  const location = headers.location ?? "";
  const target = location.startsWith(redirectUri) ? parseUrl(location) : undefined;
  if (status >= 300 && status < 400 && target !== undefined) {
    const error = target.searchParams.get("error");
    if (error === null) return words("accepted", ", and takes the client.");
    const outcome = unknownClient.test(error) ? "dead" : "unclear";
    return words(outcome, `, with the error ${peerText(context, error, 100)}.`);
  }
  if (status >= 200 && status < 400) return words("accepted", ", and takes the client.");
  const text = body.replace(/<(script|style)\b.*?(<\/\1>|$)/gis, " ").replace(/<[^>]*>/g, " ");
  const said = peerText(context, text.replace(/\s+/g, " ").trim(), 200);
  if ([400, 401, 403, 404].includes(status)) {
    if (wrongRedirect.test(text)) return words("redirect-mismatch", `: ${said}`);
    if (unknownClient.test(text)) return words("dead", `: ${said}`);
  }
  return words("unclear", said === "" ? "." : `: ${said}`);
}
