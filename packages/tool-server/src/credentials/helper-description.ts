/** How a helper fares. Times are in milliseconds since the epoch. */
export interface HelperDescription {
  readonly path: string;
  /** How often it was run. */
  readonly runs: number;
  /** How often it failed since it last succeeded. */
  readonly failures: number;
  /** When the headers in use were obtained, and when they are no longer used. */
  readonly obtainedAt: number | undefined;
  readonly expiresAt: number | undefined;
  /** When it may be run again after a failure or a refusal; undefined where it may now. */
  readonly pausedUntil: number | undefined;
}
