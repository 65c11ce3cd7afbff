import { backOffMs } from "../../../back-off.js";
import { type SetOutcome, untracked } from "../../../diagnostics.js";
import { describeProblem, ToolServerError } from "../../../errors.js";
import { createSingleFlight } from "../../../single-flight.js";
import type { OAuthContext } from "../oauth-context.js";
import { tellEvent } from "../oauth-event.js";
import { isPassingFailure, oauthFailure } from "../oauth-failure.js";
import { type Renewal, renewPatiently } from "./renewal.js";
import type { TokenRecord } from "./token-record.js";
import type { HeldToken, TokenStore } from "./token-store.js";
import { isDue, isExpired } from "./token-times.js";

/** Keeps the tokens of one server, issuer and tenant, and renews them. */
export interface TokenManager {
  /**
   * A token to send now, renewed where its time is over; undefined where a person has to sign in. Rejects where a renewal
   * failed for a reason that may pass, unless the old token still serves.
   */
  current(signal?: AbortSignal): Promise<HeldToken | undefined>;
  /** What `current` gives where it takes no waiting: a token, or null for none; undefined where it does. */
  atHand(): HeldToken | null | undefined;
  /**
   * Another token than the one that was refused, or than none: a newer one of another process, or a renewed one; undefined where a
   * person has to sign in. Renews once, whoever asks. Rejects as `current` does.
   */
  replace(refused: HeldToken | undefined, signal?: AbortSignal): Promise<HeldToken | undefined>;
  /** What is in the vault by now, unless it is left alone. */
  reload(): Promise<HeldToken | undefined>;
  /** Leaves a token alone for a while, which was refused though it was new. */
  rest(refused: HeldToken): void;
  /** Keeps the tokens of a sign-in. Resolves once they are durable. */
  keep(record: TokenRecord): Promise<HeldToken>;
  /** Rejects with VAULT_UNREADABLE if there is no space for tokens now. */
  assertSpace(): Promise<void>;
  /** What is held, without a look into the vault. */
  describe(): TokenManagerState;
  /** Begins nothing any more, and waits for what is under way: a renewed token must not be lost. */
  close(reason: Error): Promise<void>;
}

export interface TokenManagerState {
  readonly held: HeldToken | undefined;
  /** Until when the token, or the renewal of it, is left alone. */
  readonly pausedUntil: number | undefined;
}

export interface TokenManagerOptions extends Pick<OAuthContext, "server" | "secrets" | "clock" | "onEvent" | "track"> {
  readonly store: TokenStore;
  /** Renews tokens by their refresh token. Rejects for reasons that may pass. */
  readonly renew: (record: TokenRecord) => Promise<Renewal>;
  /** Obtains tokens without a person, where the grant allows it. Default: a person has to sign in. */
  readonly acquire?: (() => Promise<TokenRecord>) | undefined;
}

const firstPauseMs = 1000;
const longestPauseMs = 60_000;
const firstRestMs = 5000;
const longestRestMs = 300_000;

/**
 * Manages the tokens in a store. In one process, all who need a renewal share it; of several processes, one renews under the
 * store's lock and the others find its result there. What a renewal gave is durable before it is used, and a renewal that began
 * is never cut off. A dead token is deleted only if it still is the one that was found dead.
 */
export function createTokenManager(options: TokenManagerOptions): TokenManager {
  const { store, clock, acquire, track = untracked } = options;
  let held: HeldToken | undefined;
  let isRead = false;
  let adopted = 0;
  /** What a renewal gave and the vault did not take; nothing else is used before it is there. */
  let unsaved: { readonly record: TokenRecord; readonly replaces: string | undefined } | undefined;
  let failure: { readonly error: ToolServerError; readonly count: number; readonly until: number } | undefined;
  let resting: { readonly revision: string; readonly count: number; readonly until: number } | undefined;

  const adopt = (found: HeldToken | undefined): HeldToken | undefined => {
    held = found;
    isRead = true;
    adopted += 1;
    return found;
  };
  /** Takes what is in the vault, unless something newer was taken while it was read. */
  const look = async (): Promise<void> => {
    const before = adopted;
    const found = await store.read();
    if (adopted !== before) return;
    // Other tokens are not bound by the failures of these.
    if (found?.revision !== held?.revision) failure = undefined;
    adopt(found);
  };
  const isResting = (token: HeldToken): boolean => resting?.revision === token.revision && clock.now() < resting.until;
  const canRenew = (token: HeldToken): boolean => acquire !== undefined || token.record.refreshToken !== undefined;

  const restToken = ({ revision }: HeldToken): void => {
    const count = (resting?.count ?? 0) + 1;
    resting = { revision, count, until: clock.now() + backOffMs(count, firstRestMs, longestRestMs) };
  };

  const save = async (
    record: TokenRecord,
    replaces: string | undefined,
    write: TokenStore["write"] = store.write,
  ): Promise<HeldToken> => {
    unsaved = { record, replaces };
    const saved = await write(record);
    unsaved = undefined;
    failure = undefined;
    adopt(saved);
    return saved;
  };

  /** Under the lock: what the vault has by now, or what a renewal of it gives. */
  const renewAlone = async (stale: string | undefined, setOutcome: SetOutcome): Promise<HeldToken | undefined> => {
    const found = await store.read();
    if (unsaved !== undefined) {
      if (found?.revision === unsaved.replaces) return save(unsaved.record, unsaved.replaces);
      unsaved = undefined;
    }
    if (found !== undefined && found.revision !== stale && !isDue(found.record, clock.now())) {
      tellEvent(options, "token-adopted", "Another process had renewed the token.");
      failure = undefined;
      setOutcome({ outcome: "adopted" });
      return adopt(found);
    }
    adopt(found);
    if (found?.record.refreshToken === undefined) {
      if (acquire === undefined) {
        const isOther = found !== undefined && found.revision !== stale;
        setOutcome(isOther ? { outcome: "adopted" } : { outcome: "failed", code: "SIGN_IN_NEEDED" });
        return isOther ? found : undefined;
      }
      tellEvent(options, "refresh-started", "A new token is asked for.");
      const record = await acquire();
      tellEvent(options, "refreshed", "A new token was obtained.");
      return save(record, found?.revision);
    }
    // The old refresh token may be of no use once the new one was given, so there has to be a place for that first.
    const renewal = await store.reserve(async (write) => {
      const given = await renewPatiently(options, found.record);
      return given.kind === "tokens" ? save(given.record, found.revision, write) : given;
    });
    if (!("kind" in renewal)) return renewal;
    setOutcome({ outcome: "failed", code: renewal.failure.code });
    if (renewal.kind === "dead" && (await store.remove(found))) return adopt(undefined);
    if (renewal.kind === "dead") {
      // Somebody wrote newer ones in the meantime, such as by a sign-in.
      const newer = adopt(await store.read());
      if (newer === undefined || newer.revision === found.revision) return undefined;
      setOutcome({ outcome: "adopted" });
      return newer;
    }
    restToken(found);
    return undefined;
  };

  const flight = createSingleFlight(async (signal): Promise<HeldToken | undefined> => {
    const stale = held?.revision;
    const cause = held === undefined ? "first" : isDue(held.record, clock.now()) ? "renewal" : "refusal";
    try {
      return await track("refresh", cause, (setOutcome) => store.alone(() => renewAlone(stale, setOutcome), signal));
    } catch (error) {
      if (mayPass(error)) {
        const count = (failure?.count ?? 0) + 1;
        failure = { error, count, until: clock.now() + backOffMs(count, firstPauseMs, longestPauseMs) };
      }
      throw error;
    }
  });

  const renew = async (signal: AbortSignal | undefined): Promise<HeldToken | undefined> => {
    if (failure !== undefined && clock.now() < failure.until) throw restingFailure(options, failure);
    const token = await flight.join(signal);
    return token === undefined || isResting(token) ? undefined : token;
  };

  const current = async (signal?: AbortSignal): Promise<HeldToken | undefined> => {
    if (unsaved !== undefined) return renew(signal);
    if (!isRead || (held !== undefined && isResting(held))) await look();
    signal?.throwIfAborted();
    if (held === undefined || isResting(held)) return undefined;
    const token = held;
    const now = clock.now();
    if (!isDue(token.record, now) || !canRenew(token)) return token;
    try {
      return await renew(signal);
    } catch (error) {
      if (mayPass(error) && !isExpired(token.record, now)) return token;
      throw error;
    }
  };

  return {
    current,
    atHand() {
      if (unsaved !== undefined || !isRead) return undefined;
      if (held === undefined) return null;
      if (isResting(held)) return undefined;
      return isDue(held.record, clock.now()) && canRenew(held) ? undefined : held;
    },
    async replace(refused, signal) {
      if (held === undefined || held.revision === refused?.revision) await look();
      signal?.throwIfAborted();
      if (held !== undefined && held.revision !== refused?.revision) return current(signal);
      if (held !== undefined && isResting(held)) return undefined;
      if (held === undefined ? acquire === undefined : !canRenew(held)) {
        if (held !== undefined) restToken(held);
        return undefined;
      }
      return renew(signal);
    },
    async reload() {
      await look();
      return held === undefined || isResting(held) ? undefined : held;
    },
    rest(refused) {
      if (held?.revision === refused.revision && !isResting(held)) restToken(held);
    },
    async keep(record) {
      return store.alone(async () => {
        unsaved = undefined;
        const saved = await store.write(record);
        failure = undefined;
        resting = undefined;
        adopt(saved);
        return saved;
      });
    },
    assertSpace: () => store.reserve(async () => undefined),
    describe() {
      const until = Math.max(failure?.until ?? 0, held !== undefined && isResting(held) ? (resting?.until ?? 0) : 0);
      return { held, pausedUntil: until > clock.now() ? until : undefined };
    },
    close: (reason) => flight.close(reason),
  };
}

/** Whether a renewal that failed so is to be tried again after a pause. */
function mayPass(error: unknown): error is ToolServerError {
  return isPassingFailure(error) || ToolServerError.is(error, "TOKEN_REFUSED");
}

function restingFailure(
  options: TokenManagerOptions,
  { error, until }: { readonly error: ToolServerError; readonly until: number },
): ToolServerError {
  const seconds = Math.ceil((until - options.clock.now()) / 1000);
  return oauthFailure(
    options,
    error.code,
    {
      problem: `its token could not be renewed, and no renewal is tried for another ${seconds} s. ${describeProblem(error)}`,
      advice: error.advice,
    },
    { cause: error },
  );
}
