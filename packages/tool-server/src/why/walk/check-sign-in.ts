import { randomUUID } from "node:crypto";
import { carriesCredential } from "../../auth/credentials/refusal-evidence.js";
import { createClientStore } from "../../auth/oauth/clients/client-store.js";
import { type ClientDefect, clientDefectIn, isUnknownClientCode } from "../../auth/oauth/clients/register-client.js";
import { discover } from "../../auth/oauth/discovery/discover.js";
import { requestRules } from "../../auth/oauth/discovery/known-issuers.js";
import type { AuthorizationServer } from "../../auth/oauth/discovery/metadata.js";
import { contextOf, type OAuthLoginOptions } from "../../auth/oauth/login/login-options.js";
import { vaultKeyOf } from "../../auth/oauth/login-store.js";
import type { OAuthContext } from "../../auth/oauth/oauth-context.js";
import { peerText, urlText } from "../../auth/oauth/oauth-errors.js";
import { type OAuthResponse, sendOAuthRequest } from "../../auth/oauth/requests/oauth-request.js";
import { createAuthorizationAttempt } from "../../auth/oauth/sign-in/authorization-code.js";
import { createMemoryVault } from "../../auth/vault/memory-vault.js";
import type { ConnectionInfo, CredentialDescription } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import { textOfPage } from "../../page-text.js";
import { parseUrl } from "../../url.js";
import type { AttemptEvidence, ClientEvidence, OAuthEvidence, OAuthOffer } from "../evidence.js";
import { authorizationEvidence, describeAttempt, resourceEvidence } from "./discovery-evidence.js";
import type { StoredSignIn } from "./prepare-credential.js";
import type { Walk } from "./walk.js";

/**
 * Checks the authorization server of a tool server, if the server asked for a sign-in or a user signed in before. `attempt` is
 * undefined if the walk did not get that far.
 */
export async function checkSignIn(
  walk: Walk,
  { session, options, evidence }: StoredSignIn,
  attempt: AttemptEvidence | undefined,
  info: ConnectionInfo,
): Promise<OAuthEvidence> {
  const { before } = evidence;
  const isRelevant = attempt?.refusal !== undefined || before?.issuer !== undefined;
  if (session === undefined || options === undefined || attempt === undefined || !isRelevant) return evidence;
  const { context } = session;
  const discovery = await discover(context, {
    // The walk has sent its own request.
    challenge: attempt.refusal?.challenge ?? {},
    knownIssuer: before?.issuer,
    signal: walk.signal,
  });
  const { server } = discovery;
  const assumesPkce = server?.offersPkce === false && requestRules(server, discovery.resource, options).usesPkce;
  const authorization = authorizationEvidence(context, discovery);
  const found = {
    ...evidence,
    resource: resourceEvidence(context, discovery),
    authorization: authorization && { ...authorization, assumesPkce },
  };
  // A server that works has a known client.
  if (server === undefined || attempt.failure === undefined) return found;
  try {
    const client = await checkClient(context, options, server, discovery.resource, walk.signal);
    for (const line of client.evidence) walk.report(info, "info", line);
    return { ...found, client };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return found;
  }
}

/**
 * Checks whether a server that was sent a token of the entry supports OAuth, so that a sign-in could succeed. Only metadata is
 * read, without the token. Undefined if not, or if the metadata cannot be read.
 */
export async function checkOffer(
  walk: Walk,
  url: string,
  http: HttpClient,
  { kind, headers }: CredentialDescription,
  { connected, refusal }: AttemptEvidence,
): Promise<OAuthOffer | undefined> {
  const { options, entry, secrets, clock } = walk;
  const credentialNames = headers.filter(carriesCredential).map(({ name }) => name);
  const isReached = connected !== undefined || refusal !== undefined;
  if (
    options.oauth === undefined ||
    entry.type === "ws" ||
    kind !== "headers" ||
    credentialNames.length === 0 ||
    !isReached
  ) {
    return undefined;
  }
  const requestMs = Math.min(walk.responseMs, 10_000);
  const context = contextOf({
    server: entry.name,
    url,
    profile: "",
    vault: createMemoryVault(),
    http,
    secrets,
    clock,
    limits: { requestMs, discoveryMs: requestMs },
    allowInsecureLoopback: options.allowInsecureLoopback,
  });
  const discovery = await discover(context, {
    challenge: refusal?.challenge ?? {},
    signal: walk.signal,
  });
  const { server, attempts } = discovery;
  if (server === undefined || server.isAssumed || !server.offersPkce) return undefined;
  return {
    headers: credentialNames,
    issuer: peerText(context, server.publishedIssuer),
    canRegister: server.registrationEndpoint !== undefined,
    evidence: attempts.map(describeAttempt),
  };
}

/**
 * Checks whether the authorization server still knows the client that a sign-in would use, and its redirect URI. It requests the
 * page that a browser would be sent to, and follows no redirect. No client is registered.
 */
async function checkClient(
  context: OAuthContext,
  options: OAuthLoginOptions,
  server: AuthorizationServer,
  resource: string,
  signal: AbortSignal,
): Promise<ClientEvidence> {
  const clients = createClientStore(context, {
    vault: options.vault,
    keyOf: (issuer) => vaultKeyOf(context, issuer, "client"),
    configured: options.client,
    metadataUrl: options.clientMetadataUrl,
  });
  const known = await clients.find(server);
  if (known === undefined) return unregistered(context, server);
  const { client, redirectUri } = known;
  const rules = requestRules(server, resource, options);
  const base = {
    kind: client.kind,
    redirectUri: redirectUri === undefined ? undefined : peerText(context, redirectUri),
  };
  if (redirectUri === undefined) {
    return { ...base, outcome: "unclear", evidence: [`A client exists (${client.kind}), and was not tried.`] };
  }
  try {
    const requested = { redirectUri, state: randomUUID(), rules, scopes: [] };
    const { url } = createAuthorizationAttempt(context, server, client, requested);
    const headers = { accept: "text/html, application/json" };
    const request = { method: "GET", url, headers, requested: "the check of the client" } as const;
    const response = await sendOAuthRequest(context, request, signal);
    return { ...base, ...inspectClientResponse(context, response, redirectUri) };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return { ...base, outcome: "unclear", evidence: [error.message] };
  }
}

function unregistered(context: OAuthContext, server: AuthorizationServer): ClientEvidence {
  const { registrationEndpoint, issuer, isAssumed } = server;
  const isOpen = registrationEndpoint !== undefined;
  const text = isOpen
    ? isAssumed
      ? `A sign-in would try to register a client at ${urlText(context, registrationEndpoint)}, which no metadata names.`
      : `A sign-in will register a client at ${urlText(context, registrationEndpoint)}.`
    : `${peerText(context, issuer)} has no registration endpoint, and no client is configured.`;
  return { kind: "none", outcome: isOpen ? "to-register" : "closed", redirectUri: undefined, evidence: [text] };
}

const outcomes: Readonly<Record<ClientDefect, ClientEvidence["outcome"]>> = {
  "redirect-wrong": "redirect-mismatch",
  "client-unknown": "dead",
  // Not dead: the authorization server may be unable to read the document only now.
  "client-document": "unclear",
};

/** What the response of an authorization endpoint says about the client. Redirects are not followed, and queries not reported. */
export function inspectClientResponse(
  context: Pick<OAuthContext, "secrets">,
  { status, headers, body }: Pick<OAuthResponse, "status" | "headers" | "body">,
  redirectUri: string,
): Pick<ClientEvidence, "outcome" | "evidence"> {
  const result = (outcome: ClientEvidence["outcome"], text: string): Pick<ClientEvidence, "outcome" | "evidence"> => ({
    outcome,
    evidence: [`The authorization endpoint returns ${status}${text}`],
  });
  const location = headers.location ?? "";
  const target = location.startsWith(redirectUri) ? parseUrl(location) : undefined;
  if (status >= 300 && status < 400 && target !== undefined) {
    const error = target.searchParams.get("error");
    if (error === null) return result("accepted", ", and accepts the client.");
    const outcome = isUnknownClientCode(error) ? "dead" : "unclear";
    return result(outcome, `, with the error ${peerText(context, error, 100)}.`);
  }
  if (status >= 200 && status < 400) return result("accepted", ", and accepts the client.");
  const said = peerText(context, textOfPage(body).replace(/\s+/g, " ").trim(), 200);
  const defect = clientDefectIn({ status, body });
  return result(defect === undefined ? "unclear" : outcomes[defect], said === "" ? "." : `: ${said}`);
}
