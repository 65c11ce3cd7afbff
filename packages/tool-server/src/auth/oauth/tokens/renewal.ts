import { backOffMs } from "../../../back-off.js";
import { untilAborted } from "../../../clock.js";
import type { ToolServerError } from "../../../errors.js";
import type { ClientStore } from "../clients/client-store.js";
import { requestRules } from "../discovery/known-issuers.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { TokenRecord } from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { isTransientFailure, oauthFailure } from "../oauth-errors.js";
import { proofKeyOf } from "./proof-key.js";
import { requestTokens, resourceField } from "./token-request.js";

/** The result of one attempt to renew tokens. */
export type Renewal =
  | { readonly kind: "tokens"; readonly record: TokenRecord }
  /** The refresh token will never be accepted again. */
  | { readonly kind: "dead"; readonly failure: ToolServerError }
  /** It was refused, for a reason that may be temporary or not. */
  | { readonly kind: "refused"; readonly failure: ToolServerError };

/**
 * Renews tokens with their refresh token. `beforeRequest` is called before each request that may use up the refresh token. Rejects for
 * transient reasons, with the reason of the signal, and as `beforeRequest` does.
 */
export type Renew = (record: TokenRecord, beforeRequest: () => Promise<void>, signal: AbortSignal) => Promise<Renewal>;

export interface RenewalOptions extends Pick<OAuthContext, "server" | "secrets" | "clock" | "log"> {
  readonly renew: Renew;
}

const maxAttempts = 3;
const firstPauseMs = 500;
const maxPauseMs = 4000;
/** No attempt starts later, so that the last one has the time of a token request. */
const lastStartMs = 20_000;

/** Runs a task that holds the lock of the tokens. At its time limit, the signal aborts with SERVER_UNREACHABLE. */
export async function withRenewalLimit<T>(
  options: Pick<OAuthContext, "server" | "secrets" | "clock" | "limits">,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, limits } = options;
  const limit = new AbortController();
  const cancelTimer = clock.after(limits.renewalMs, () => {
    const problem = `the token was not obtained within ${limits.renewalMs / 1000} s.`;
    limit.abort(oauthFailure(options, "SERVER_UNREACHABLE", { problem, advice: "Try again later." }));
  });
  try {
    return await task(limit.signal);
  } finally {
    cancelTimer();
  }
}

/**
 * Renews tokens, and retries a few times after a transient failure or a refusal without a clear reason, as long as there is time for
 * another attempt. Rejects with the last failure if it is transient. `startRenewal` is called before each request, and resolves with whether an
 * earlier renewal was interrupted: its request may have used up the refresh token, so a refusal is final.
 */
export async function renewWithRetries(
  options: RenewalOptions,
  record: TokenRecord,
  startRenewal: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Renewal> {
  const { clock, log, renew } = options;
  const startedAt = clock.now();
  let wasInterrupted = false;
  const beforeRequest = async (): Promise<void> => {
    wasInterrupted = await startRenewal();
  };
  for (let attempt = 1; ; attempt += 1) {
    let failure: ToolServerError;
    const pauseMs = backOffMs(attempt, firstPauseMs, maxPauseMs);
    const isLast = (): boolean => attempt === maxAttempts || clock.now() - startedAt + pauseMs > lastStartMs;
    try {
      const renewal = await renew(record, beforeRequest, signal);
      if (renewal.kind === "tokens") return renewal;
      failure = wasInterrupted ? afterInterruption(options, renewal.failure) : renewal.failure;
      if (renewal.kind === "dead" || wasInterrupted || isLast()) {
        log.note("tokens-dropped", `Cannot renew the token: ${failure.message}`, "warning");
        return { kind: renewal.kind, failure };
      }
    } catch (error) {
      if (!isTransientFailure(error)) throw error;
      failure = error;
      if (isLast()) throw failure;
    }
    log.note("renewal-retry", `${failure.message} Retrying in ${pauseMs / 1000} s.`, "warning");
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
  }
}

function afterInterruption(context: Pick<OAuthContext, "server" | "secrets">, cause: ToolServerError): ToolServerError {
  const { code, problem, advice, details } = cause;
  const parts = { problem: `${problem} An interrupted renewal may have used the refresh token.`, advice };
  return oauthFailure(context, code, parts, { cause, details });
}

/** Renews the tokens of an issuer with their refresh token, only at the endpoint of this issuer. */
export function createTokenRenewer(
  context: OAuthContext,
  clients: ClientStore,
  serverOf: () => Promise<AuthorizationServer>,
): Renew {
  return async (record, beforeRequest, signal) => {
    const server = await untilAborted(serverOf(), signal);
    const client = await clients.byId(server, record.clientId);
    if (record.refreshToken === undefined || (client === undefined && record.clientId !== "")) {
      const problem = "the client of its tokens is no longer known.";
      return { kind: "dead", failure: oauthFailure(context, "SIGN_IN_NEEDED", { problem, advice: "Sign in again." }) };
    }
    const key = record.proofKey === undefined ? undefined : await proofKeyOf(context, record.proofKey);
    const { resource } = requestRules(server, record.resource, context.settings);
    const form = { grant_type: "refresh_token", refresh_token: record.refreshToken, ...resourceField(resource) };
    const identity = { subject: record.subject };
    const outcome = await requestTokens(context, { server, client, form, key, identity, beforeRequest, signal });
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
    const { error, failure, isSpent } = outcome;
    if (error === "invalid_grant" || isSpent) return { kind: "dead", failure };
    // The tokens of a deleted client are invalid too.
    if (error === "invalid_client" && client?.kind === "registered" && (await clients.drop(server, client)))
      return { kind: "dead", failure };
    return { kind: "refused", failure };
  };
}
