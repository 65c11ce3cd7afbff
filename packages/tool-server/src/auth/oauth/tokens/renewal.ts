import { backOffMs } from "../../../back-off.js";
import type { ToolServerError } from "../../../errors.js";
import type { ClientStore } from "../clients/client-store.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import { type RequestSettings, requestRules } from "../discovery/known-issuers.js";
import { type OAuthContext, reportEvent } from "../oauth-context.js";
import { isTransientFailure, oauthFailure } from "../oauth-errors.js";
import { proofKeyOf } from "./proof-key.js";
import { requestTokens, resourceField } from "./token-request.js";
import type { TokenRecord } from "./token-store.js";

/** The result of one attempt to renew tokens. */
export type Renewal =
  | { readonly kind: "tokens"; readonly record: TokenRecord }
  /** The refresh token will never be accepted again. */
  | { readonly kind: "dead"; readonly failure: ToolServerError }
  /** It was refused, for a reason that may be temporary or not. */
  | { readonly kind: "refused"; readonly failure: ToolServerError };

export interface RenewalOptions extends Pick<OAuthContext, "secrets" | "clock" | "onEvent"> {
  readonly renew: (record: TokenRecord) => Promise<Renewal>;
}

const maxAttempts = 3;
const firstPauseMs = 500;
const maxPauseMs = 4000;

/**
 * Renews tokens, and retries a few times after a transient failure or a refusal without a clear reason. Rejects with the last
 * failure if it is transient.
 */
export async function renewWithRetries(options: RenewalOptions, record: TokenRecord): Promise<Renewal> {
  const { clock, renew } = options;
  reportEvent(options, "refresh-started", "Renewing the token.");
  for (let attempt = 1; ; attempt += 1) {
    let failure: ToolServerError;
    try {
      const renewal = await renew(record);
      if (renewal.kind === "tokens") {
        const until =
          renewal.record.expiresAt === undefined ? "" : ` It expires at ${timeText(renewal.record.expiresAt)}.`;
        reportEvent(options, "refreshed", `Renewed the token.${until}`);
        return renewal;
      }
      failure = renewal.failure;
      if (renewal.kind === "dead" || attempt === maxAttempts) {
        reportEvent(options, "tokens-dropped", `Cannot renew the token: ${failure.message}`, "warning");
        return renewal;
      }
    } catch (error) {
      if (!isTransientFailure(error)) throw error;
      failure = error;
      if (attempt === maxAttempts) {
        reportEvent(options, "refresh-failed", failure.message, "warning");
        throw failure;
      }
    }
    const pauseMs = backOffMs(attempt, firstPauseMs, maxPauseMs);
    reportEvent(options, "refresh-failed", `${failure.message} Retrying in ${pauseMs / 1000} s.`, "warning");
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** Renews the tokens of an issuer with their refresh token, only at the endpoint of this issuer. */
export function createTokenRenewer(
  context: OAuthContext,
  clients: ClientStore,
  serverOf: () => Promise<AuthorizationServer>,
  settings: RequestSettings = {},
): (record: TokenRecord) => Promise<Renewal> {
  return async (record) => {
    const server = await serverOf();
    const client = await clients.byId(server, record.clientId);
    if (record.refreshToken === undefined || (client === undefined && record.clientId !== "")) {
      const problem = "the client of its tokens is no longer known.";
      return { kind: "dead", failure: oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice: "Sign in again." }) };
    }
    const key = record.proofKey === undefined ? undefined : await proofKeyOf(context, record.proofKey);
    const { resource } = requestRules(server, record.resource, settings);
    const form = { grant_type: "refresh_token", refresh_token: record.refreshToken, ...resourceField(resource) };
    const outcome = await requestTokens(context, { server, client, form, key });
    if (outcome.kind === "tokens") {
      const { tokens } = outcome;
      return {
        kind: "tokens",
        record: {
          ...record,
          ...tokens,
          // Without a new refresh token, the old one stays valid.
          refreshToken: tokens.refreshToken ?? record.refreshToken,
          scopes: tokens.scopes ?? record.scopes,
          identity: tokens.identity ?? record.identity,
        },
      };
    }
    const { error, failure } = outcome;
    if (error === "invalid_grant") return { kind: "dead", failure };
    // The tokens of a deleted client are invalid too.
    if (error === "invalid_client" && client?.kind === "registered" && (await clients.drop(server, client)))
      return { kind: "dead", failure };
    return { kind: "refused", failure };
  };
}
