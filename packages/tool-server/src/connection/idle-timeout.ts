import type { Clock } from "../clock.js";

/** A time limit that does not run out while a user signs in. */
export interface IdleTimeout {
  readonly timeoutMs: number;
  /** Whether a user is being asked to sign in now. Default: never. */
  readonly isWaitingForUser: (() => boolean) | undefined;
  readonly clock: Clock;
}

/** Calls `act` after the time limit, unless the returned function is called first. */
export function afterIdleTimeout({ timeoutMs, isWaitingForUser, clock }: IdleTimeout, act: () => void): () => void {
  let stop = (): void => {};
  const wait = (): void => {
    stop = clock.after(timeoutMs, () => (isWaitingForUser?.() ? wait() : act()));
  };
  wait();
  return () => stop();
}
