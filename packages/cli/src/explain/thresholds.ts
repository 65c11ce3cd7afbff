/** The thresholds of the rules. */
export interface Thresholds {
  /** The time in which lost connections are counted. */
  readonly flapWindowMs: number;
  /** How many connections must be lost in it. */
  readonly minFlaps: number;
  /** How long a channel may be CONNECTING. */
  readonly stuckMs: number;
  /** How many calls must have ended to compute a failure rate. */
  readonly minEnded: number;
  /** The share of failed calls from which on it is reported. */
  readonly failedShare: number;
  /** How long a socket with streams may be silent. */
  readonly quietMs: number;
  /** How old a trace event about keepalives may be. */
  readonly recentMs: number;
  /** How many connections a channel must have to compare their load. */
  readonly minSiblings: number;
  /** How many calls per second they must have in total. */
  readonly minRate: number;
  /** The share of one connection from which on it is reported. */
  readonly hotShare: number;
  /** How many objects must have been added. */
  readonly minGrowth: number;
  /** Over at least how many reads. */
  readonly minReads: number;
  /** How long before its expiry a certificate is reported. */
  readonly expiryMs: number;
  /** How often TCP retransmitted the oldest segment. */
  readonly minRetransmits: number;
  /** How long a round trip may take. */
  readonly slowRttMs: number;
}

export const defaultThresholds: Thresholds = {
  flapWindowMs: 10 * 60_000,
  minFlaps: 3,
  stuckMs: 20_000,
  minEnded: 10,
  failedShare: 0.05,
  quietMs: 60_000,
  recentMs: 10 * 60_000,
  minSiblings: 4,
  minRate: 10,
  hotShare: 0.6,
  minGrowth: 20,
  minReads: 5,
  expiryMs: 14 * 86_400_000,
  minRetransmits: 3,
  slowRttMs: 300,
};
