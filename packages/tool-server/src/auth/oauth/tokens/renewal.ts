import { backOffMs } from "../../../back-off.js";
import type { ToolServerError } from "../../../errors.js";
import type { ClientStore } from "../clients/client-store.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import { type OAuthContext, tellEvent } from "../oauth-context.js";
import { isPassingFailure, oauthFailure } from "../oauth-errors.js";
import { proofKeyOf } from "./proof-key.js";
import { refreshGrant, requestTokens } from "./token-request.js";
import type { TokenRecord } from "./token-store.js";

/** What a try to renew tokens ended with. */
export type Renewal =
  | { readonly kind: "tokens"; readonly record: TokenRecord }
  /** The refresh token will never be accepted again. */
  | { readonly kind: "dead"; readonly failure: ToolServerError }
  /** It was not accepted, for a reason that may or may not stay. */
  | { readonly kind: "refused"; readonly failure: ToolServerError };

export interface RenewalOptions extends Pick<OAuthContext, "secrets" | "clock" | "onEvent"> {
  readonly renew: (record: TokenRecord) => Promise<Renewal>;
}

const tries = 3;
const firstPauseMs = 500;
const longestPauseMs = 4000;

/**
 * Renews tokens, and tries again a few times where that failed for a reason that may pass, or was refused without a clear word.
 * Rejects with the last failure where it may still pass.
 */
export async function renewPatiently(options: RenewalOptions, record: TokenRecord): Promise<Renewal> {
  const { clock, renew } = options;
  tellEvent(options, "refresh-started", "The token is renewed.");
  for (let tried = 1; ; tried += 1) {
    let failure: ToolServerError;
    try {
      const renewal = await renew(record);
      if (renewal.kind === "tokens") {
        const until =
          renewal.record.expiresAt === undefined ? "" : ` It is good until ${timeText(renewal.record.expiresAt)}.`;
        tellEvent(options, "refreshed", `The token was renewed.${until}`);
        return renewal;
      }
      failure = renewal.failure;
      if (renewal.kind === "dead" || tried === tries) {
        tellEvent(options, "tokens-dropped", `The token cannot be renewed: ${failure.message}`, "warning");
        return renewal;
      }
    } catch (error) {
      if (!isPassingFailure(error)) throw error;
      failure = error;
      if (tried === tries) {
        tellEvent(options, "refresh-failed", failure.message, "warning");
        throw failure;
      }
    }
    const pauseMs = backOffMs(tried, firstPauseMs, longestPauseMs);
    tellEvent(options, "refresh-failed", `${failure.message} It is tried again in ${pauseMs / 1000} s.`, "warning");
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

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
