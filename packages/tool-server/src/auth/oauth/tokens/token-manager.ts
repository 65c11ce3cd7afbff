import { backOffMs } from "../../../back-off.js";
import { untilAborted } from "../../../clock.js";
import { describeReason, ToolServerError } from "../../../errors.js";
import { createSingleFlight } from "../../../single-flight.js";
import type { LockedEntry, Vault, VaultEntry, VaultKey } from "../../vault/vault.js";
import type { LoginStore } from "../login-store.js";
import {
  type HeldToken,
  heldTokenOf,
  isDue,
  isExpired,
  type TokenRecord,
  tokenLockWaitMs,
  writeTokens,
} from "../login-store.js";
import type { OAuthContext } from "../oauth-context.js";
import { isTransientFailure, oauthFailure } from "../oauth-errors.js";
import type { SetEnding } from "../oauth-log.js";
import { type Renew, renewWithRetries, withRenewalLimit } from "./renewal.js";

/** The tokens of one server, issuer and tenant: read from the vault, and renewed when needed. An `OAuthLogin` owns it. */
export interface TokenManager {
  /**
   * A token to send now, renewed if it is about to expire; undefined if a user has to sign in. Rejects if a renewal failed for a
   * transient reason, unless the old token is still valid.
   */
  current(signal?: AbortSignal): Promise<HeldToken | undefined>;
  /** The result of `current` if it is available without waiting: a token, or null for none; otherwise undefined. */
  cached(): HeldToken | null | undefined;
  /**
   * A token other than the refused one, or than none: a newer one of another process, or a renewed one; undefined if a user
   * has to sign in. Concurrent callers share one renewal. Rejects as `current` does.
   */
  replace(refused: HeldToken | undefined, signal?: AbortSignal): Promise<HeldToken | undefined>;
  /** Reads the vault again. Undefined if it has no token, or a paused one. */
  reload(): Promise<HeldToken | undefined>;
  /** Does not use a token for a while, because the server refused it although it was new. */
  pause(refused: HeldToken): void;
  /** Saves the tokens of a sign-in. Resolves once they are durable. */
  save(record: TokenRecord): Promise<HeldToken>;
  /** The token in memory, and until when it, or its renewal, is paused. Does not read the vault. */
  readonly state: {
    readonly held: HeldToken | undefined;
    readonly pausedUntil: number | undefined;
    /** Why the last token was not renewed, if the authorization server refused that. */
    readonly refusal: ToolServerError | undefined;
  };
  /** Starts no renewal, and waits for one in progress: a renewed token must not be lost. */
  stop(reason: Error): Promise<void>;
}

export interface TokenManagerOptions extends Pick<OAuthContext, "server" | "secrets" | "clock" | "limits" | "log"> {
  readonly vault: Vault;
  /** The entry of the tokens in the vault. */
  readonly key: VaultKey;
  readonly renew: Renew;
  /** Where the last failure of a renewal is kept. */
  readonly store: Pick<LoginStore, "keepFailure" | "clearFailure">;
  /** Obtains tokens without a user, if the grant allows it. Default: a user has to sign in. */
  readonly acquire?: (() => Promise<TokenRecord>) | undefined;
  /** Whether these tokens may be used: other settings may have obtained them. Default: all. */
  readonly accepts?: ((record: TokenRecord) => boolean) | undefined;
}

const firstPauseMs = 1000;
const maxPauseMs = 60_000;
const firstTokenPauseMs = 5000;
const maxTokenPauseMs = 300_000;

/**
 * Manages the tokens of one vault entry. Concurrent callers of one process share a renewal; of several processes, one renews under
 * the lock of the entry and the others read its result. A renewed token is durable before it is used, and a renewal that
 * started is never interrupted. A dead token is deleted only if it is still the one that was found dead.
 */
export function createTokenManager(options: TokenManagerOptions): TokenManager {
  const { vault, key, clock, acquire, accepts = () => true, log } = options;
  const acceptedIn = (entry: VaultEntry | undefined): HeldToken | undefined => {
    const found = heldTokenOf(options, entry);
    return found !== undefined && accepts(found.record) ? found : undefined;
  };
  let held: HeldToken | undefined;
  let isRead = false;
  let adopted = 0;
  /** Renewed tokens that could not be written; nothing else is used until they are. */
  let unsaved: { readonly record: TokenRecord; readonly replaces: string | undefined } | undefined;
  let failure: { readonly error: ToolServerError; readonly count: number; readonly until: number } | undefined;
  /** The last refusal to renew a token. */
  let refusal: { readonly revision: string; readonly error: ToolServerError } | undefined;
  let paused: { readonly revision: string; readonly count: number; readonly until: number } | undefined;

  const adopt = (found: HeldToken | undefined): HeldToken | undefined => {
    held = found;
    if (found !== undefined && found.revision !== refusal?.revision) refusal = undefined;
    isRead = true;
    adopted += 1;
    return found;
  };
  /** Reads the vault, and uses the result unless a newer token was adopted meanwhile. */
  const refreshFromVault = async (): Promise<void> => {
    const before = adopted;
    const found = acceptedIn(await vault.get(key));
    if (adopted !== before) return;
    // The failures of the old tokens say nothing about new ones.
    if (found?.revision !== held?.revision) failure = undefined;
    adopt(found);
  };
  const isPaused = (token: HeldToken): boolean => paused?.revision === token.revision && clock.now() < paused.until;
  const canRenew = (token: HeldToken): boolean => acquire !== undefined || token.record.refreshToken !== undefined;

  const pauseToken = ({ revision }: HeldToken): void => {
    const count = (paused?.count ?? 0) + 1;
    paused = { revision, count, until: clock.now() + backOffMs(count, firstTokenPauseMs, maxTokenPauseMs) };
  };

  const write = async (entry: LockedEntry, record: TokenRecord, replaces: string | undefined): Promise<HeldToken> => {
    unsaved = { record, replaces };
    const saved = await writeTokens(entry, record);
    unsaved = undefined;
    failure = undefined;
    adopt(saved);
    return saved;
  };

  /** Under the lock: the token that the vault has by now, or a renewed one. */
  const renewLocked = async (
    entry: LockedEntry,
    stale: string | undefined,
    setEnding: SetEnding,
  ): Promise<HeldToken | undefined> => {
    const found = acceptedIn(await entry.read());
    if (unsaved !== undefined) {
      if (found?.revision === unsaved.replaces) return write(entry, unsaved.record, unsaved.replaces);
      unsaved = undefined;
    }
    if (found !== undefined && found.revision !== stale && !isDue(found.record, clock.now())) {
      failure = undefined;
      setEnding({ outcome: "adopted", text: "Another process already renewed the token." });
      return adopt(found);
    }
    adopt(found);
    // Not with a refresh token: it would give access even after the identity was withdrawn.
    if (acquire !== undefined) {
      const record = await withRenewalLimit(options, (signal) => untilAborted(acquire(), signal));
      setEnding({ outcome: "done", text: "Obtained a new token." });
      const obtained = await write(entry, record, found?.revision);
      await options.store.clearFailure();
      return obtained;
    }
    if (found?.record.refreshToken === undefined) {
      const isOther = found !== undefined && found.revision !== stale;
      setEnding(isOther ? { outcome: "adopted" } : { outcome: "failed", code: "SIGN_IN_NEEDED" });
      return isOther ? found : undefined;
    }
    const startRenewal = (): Promise<boolean> => entry.startRenewal(found.revision);
    const renewal = await withRenewalLimit(options, (signal) =>
      renewWithRetries(options, found.record, startRenewal, signal),
    );
    if (renewal.kind === "tokens") {
      const { expiresAt } = renewal.record;
      const until = expiresAt === undefined ? "" : ` It expires at ${new Date(expiresAt).toISOString()}.`;
      setEnding({ outcome: "done", text: `Renewed the token.${until}` });
      const renewed = await write(entry, renewal.record, found.revision);
      await options.store.clearFailure();
      return renewed;
    }
    setEnding({ outcome: "failed", code: renewal.failure.code });
    await options.store.keepFailure("refresh", renewal.failure);
    refusal = { revision: found.revision, error: renewal.failure };
    if (renewal.kind === "dead") {
      await entry.remove();
      return adopt(undefined);
    }
    pauseToken(found);
    return undefined;
  };

  const flight = createSingleFlight(async (signal): Promise<HeldToken | undefined> => {
    const stale = held?.revision;
    const cause = held === undefined ? "first" : isDue(held.record, clock.now()) ? "renewal" : "refusal";
    try {
      return await log.run("refresh", cause, (setEnding) =>
        vault.withLock(key, (entry) => renewLocked(entry, stale, setEnding), { signal, waitMs: tokenLockWaitMs }),
      );
    } catch (error) {
      if (isTransient(error)) {
        await options.store.keepFailure("refresh", error);
        const count = (failure?.count ?? 0) + 1;
        failure = { error, count, until: clock.now() + backOffMs(count, firstPauseMs, maxPauseMs) };
      }
      throw error;
    }
  });

  const renew = async (signal: AbortSignal | undefined): Promise<HeldToken | undefined> => {
    if (failure !== undefined && clock.now() < failure.until) throw pausedFailure(options, failure);
    const token = await flight.join(signal);
    return token === undefined || isPaused(token) ? undefined : token;
  };

  const current = async (signal?: AbortSignal): Promise<HeldToken | undefined> => {
    if (unsaved !== undefined) return renew(signal);
    if (!isRead || (held !== undefined && isPaused(held))) await refreshFromVault();
    signal?.throwIfAborted();
    if (held === undefined || isPaused(held)) return undefined;
    const token = held;
    const now = clock.now();
    if (!isDue(token.record, now) || !canRenew(token)) return token;
    try {
      return await renew(signal);
    } catch (error) {
      if (isTransient(error) && !isExpired(token.record, now)) return token;
      throw error;
    }
  };

  return {
    current,
    cached() {
      if (unsaved !== undefined || !isRead) return undefined;
      if (held === undefined) return null;
      if (isPaused(held)) return undefined;
      return isDue(held.record, clock.now()) && canRenew(held) ? undefined : held;
    },
    async replace(refused, signal) {
      if (held === undefined || held.revision === refused?.revision) await refreshFromVault();
      signal?.throwIfAborted();
      if (held !== undefined && held.revision !== refused?.revision) return current(signal);
      if (held !== undefined && isPaused(held)) return undefined;
      if (held === undefined ? acquire === undefined : !canRenew(held)) {
        if (held !== undefined) pauseToken(held);
        return undefined;
      }
      return renew(signal);
    },
    async reload() {
      await refreshFromVault();
      return held === undefined || isPaused(held) ? undefined : held;
    },
    pause(refused) {
      if (held?.revision === refused.revision && !isPaused(held)) pauseToken(held);
    },
    save(record) {
      const task = async (entry: LockedEntry): Promise<HeldToken> => {
        unsaved = undefined;
        const saved = await writeTokens(entry, record);
        failure = undefined;
        paused = undefined;
        adopt(saved);
        return saved;
      };
      return vault.withLock(key, task, { waitMs: tokenLockWaitMs });
    },
    get state() {
      const until = Math.max(failure?.until ?? 0, held !== undefined && isPaused(held) ? (paused?.until ?? 0) : 0);
      return { held, pausedUntil: until > clock.now() ? until : undefined, refusal: refusal?.error };
    },
    stop: (reason) => flight.close(reason),
  };
}

/** Whether a failed renewal is retried after a pause. The file of a platform token is unreadable while another program replaces it. */
function isTransient(error: unknown): error is ToolServerError {
  const isRetried = ToolServerError.is(error, "TOKEN_REFUSED") || ToolServerError.is(error, "CONFIGURATION_UNREADABLE");
  return isRetried || isTransientFailure(error);
}

function pausedFailure(
  options: TokenManagerOptions,
  { error, until }: { readonly error: ToolServerError; readonly until: number },
): ToolServerError {
  const seconds = Math.ceil((until - options.clock.now()) / 1000);
  const problem = `cannot renew its token; the next attempt is in ${seconds} s. ${describeReason(error)}`;
  return oauthFailure(options, error.code, { problem, advice: error.advice }, { cause: error });
}
