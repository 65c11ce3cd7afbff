import type { AuthorizationServer } from "../discovery/authorization-server.js";
import { refreshGrant } from "../grants/grant-forms.js";
import { proofKeyOf } from "../grants/proof-key.js";
import { requestTokens } from "../grants/token-request.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-failure.js";
import type { ClientStore } from "../registration/client-store.js";
import type { Renewal } from "../tokens/renewal.js";
import type { TokenRecord } from "../tokens/token-record.js";

const again = "Sign in again.";

/** Renews the tokens of an issuer by their refresh token, at the endpoint that this issuer names and nowhere else. */
export function createTokenRenewer(
  context: OAuthContext,
  clients: ClientStore,
  serverOf: () => Promise<AuthorizationServer>,
): (record: TokenRecord) => Promise<Renewal> {
  return async (record) => {
    const server = await serverOf();
    const client = await clients.byId(server, record.clientId);
    if (record.refreshToken === undefined || (client === undefined && record.clientId !== "")) {
      const problem = "the client that its tokens were given to is no longer known here.";
      return { kind: "dead", failure: oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice: again }) };
    }
    const key = record.proofKey === undefined ? undefined : await proofKeyOf(context, record.proofKey);
    const form = refreshGrant(record.refreshToken, record.resource);
    const outcome = await requestTokens(context, { server, client, form, key });
    if (outcome.kind === "tokens") {
      const { tokens } = outcome;
      return {
        kind: "tokens",
        record: {
          ...record,
          ...tokens,
          // Who sends no new one means the old one.
          refreshToken: tokens.refreshToken ?? record.refreshToken,
          scopes: tokens.scopes ?? record.scopes,
          identity: tokens.identity ?? record.identity,
        },
      };
    }
    const { error, failure } = outcome;
    if (error === "invalid_grant") return { kind: "dead", failure };
    // Tokens of a client that is gone are gone with it.
    if (error === "invalid_client" && client !== undefined && (await clients.drop(server, client)))
      return { kind: "dead", failure };
    return { kind: "refused", failure };
  };
}
