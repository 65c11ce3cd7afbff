/** What counts calls: a channel and its subchannel on a client, a server on a server. */
export interface CallCounters {
  callStarted(): void;
  callSucceeded(): void;
  callFailed(): void;
}

/** Counts how a call ended. */
export function countOutcome(counters: CallCounters, isSuccess: boolean): void {
  if (isSuccess) counters.callSucceeded();
  else counters.callFailed();
}
