import type { TokenSet } from "../grants/token-response.js";

/** So long before its expiry a token is renewed: a request takes its time, and clocks differ. */
const longestMarginMs = 60_000;
/** A token is taken for good at least so long after it came, whatever it says: else each request would renew it. */
const leastKeptMs = 2000;

type Times = Pick<TokenSet, "expiresAt" | "obtainedAt">;

/** Whether it is time to renew a token: in the last fifth of its life, one minute at most. Never where its expiry is unknown. */
export function isDue({ expiresAt, obtainedAt }: Times, now: number): boolean {
  if (expiresAt === undefined) return false;
  const marginMs = Math.min(longestMarginMs, (expiresAt - obtainedAt) / 5);
  return now >= Math.max(expiresAt - marginMs, obtainedAt + leastKeptMs);
}

/** Whether a token's time is over. */
export function isExpired({ expiresAt }: Times, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}
