import type { ClientStore } from "../clients/client-store.js";
import { type Discovery, discover, issuerChanged } from "../discovery/discover.js";
import { requestRules } from "../discovery/known-issuers.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { ResourceChallenge } from "../discovery/resource-challenge.js";
import { selectScopes } from "../discovery/scopes.js";
import type { TokenRecord } from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { grantName, type MachineGrant, machineGrantForm } from "../tokens/machine-grant.js";
import { createProofKey, proofKeyToJson } from "../tokens/proof-key.js";
import { requestTokens, tokensOf } from "../tokens/token-request.js";
import type { OAuthLoginOptions } from "./login-options.js";

/** Obtains tokens without a user. */
export interface Acquirer {
  /** Finds the authorization server, and remembers the challenge. */
  discover(challenge: ResourceChallenge, signal?: AbortSignal): Promise<AuthorizationServer>;
  /** Requests tokens. Rejects with TOKEN_REFUSED, or with ISSUER_CHANGED if the tool server no longer names this server. */
  acquire(server: AuthorizationServer): Promise<TokenRecord>;
}

export function createAcquirer(
  context: OAuthContext,
  options: OAuthLoginOptions,
  clients: ClientStore,
  grant: MachineGrant,
): Acquirer {
  let known: Discovery | undefined;
  return {
    async discover(challenge, signal) {
      const found = await discover(context, { challenge, signal });
      if (found.failure !== undefined) throw found.failure;
      known = found;
      return found.server;
    },
    async acquire(server) {
      if (known?.server.issuer !== server.issuer) {
        const found = await discover(context, { challenge: {}, knownIssuer: server.issuer });
        if (found.failure !== undefined) throw found.failure;
        if (found.changedFrom !== undefined) throw issuerChanged(context, found.changedFrom, found.server.issuer, true);
        known = found;
      }
      const { challenge, resourceScopes, bindsTokens } = known;
      const scopes = selectScopes({
        challenged: challenge.scopes,
        configured: options.scopes ?? [],
        resourceScopes,
        previous: [],
        // No refresh token is needed, because a new token can be requested at any time.
        server: { scopes: undefined },
      });
      const client = (await clients.find(server))?.client;
      const isBound = options.bindsTokens === true || bindsTokens || challenge.requiresProof;
      const key = isBound ? await createProofKey(context) : undefined;
      const { resource } = requestRules(server, known.resource, context.settings);
      const { form, subject } = await machineGrantForm(context, grant, { server, resource }, scopes);
      const tokens = tokensOf(await requestTokens(context, { server, client, form, key }));
      return {
        ...tokens,
        clientId: client?.clientId ?? "",
        resource: known.resource,
        requestedScopes: scopes,
        proofKey: key === undefined ? undefined : proofKeyToJson(key),
        grant: grantName(grant),
        subject,
      };
    },
  };
}
