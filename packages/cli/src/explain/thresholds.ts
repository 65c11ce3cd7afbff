/** From when on the rules report something. */
export interface Thresholds {
  /** The time in which lost connections are counted. */
  readonly flapWindowMs: number;
  /** How many connections must be lost in it. */
  readonly minFlaps: number;
  /** How long a channel may be CONNECTING. */
  readonly stuckMs: number;
  /** How many calls must have ended for a failure rate. */
  readonly minEnded: number;
  /** The share of failed calls. */
  readonly failedShare: number;
  /** How long a socket with streams may be silent. */
  readonly quietMs: number;
  /** How old a trace event about keepalives may be. */
  readonly recentMs: number;
  /** How many connections a channel must have for a comparison of their load. */
  readonly minSiblings: number;
  /** How many calls a second they must have in total. */
  readonly minRate: number;
  /** The share of one of them. */
  readonly hotShare: number;
  /** How many objects must have been added. */
  readonly minGrowth: number;
  /** In how many reads. */
  readonly minReads: number;
  /** How soon a certificate expires. */
  readonly expiryMs: number;
  /** How often TCP sent the oldest segment again. */
  readonly minRetransmits: number;
  /** How long a round trip takes. */
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
