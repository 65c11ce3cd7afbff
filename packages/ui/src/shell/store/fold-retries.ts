import type { TimelineChange } from "@wirescope/channelz/timeline";

/** A change, and the failed attempts to connect that followed it. */
export interface FoldedChange {
  readonly change: TimelineChange;
  readonly retries: number;
  /** When the last of them failed. */
  readonly lastMs: number;
}

/**
 * Folds the retries of what fails into the change with which it began to fail, until it is ready, idle or closed again. Changes are oldest
 * first.
 */
export function foldRetries(changes: readonly TimelineChange[]): readonly FoldedChange[] {
  const folded: { change: TimelineChange; retries: number; lastMs: number }[] = [];
  const failing = new Map<string, (typeof folded)[number]>();
  for (const change of changes) {
    const id = identityOf(change);
    const [, from, to] = /^(\w+) (?:→|->) (\w+)/.exec(change.text) ?? [];
    const known = change.kind === "state" || change.kind === "trace" ? failing.get(id) : undefined;
    const isAttempt = to === "CONNECTING" && (from === "TRANSIENT_FAILURE" || from === "IDLE");
    if (known !== undefined && (to === "TRANSIENT_FAILURE" || isAttempt)) {
      // One failure may be a change of state and an event of the trace.
      if (!isAttempt && change.timeMs !== known.lastMs)
        Object.assign(known, { retries: known.retries + 1, lastMs: change.timeMs });
      continue;
    }
    const row = { change, retries: 0, lastMs: change.timeMs };
    folded.push(row);
    if (to === "TRANSIENT_FAILURE") failing.set(id, row);
    else if (to === "READY" || (to === "SHUTDOWN" && !isReplaced(change))) failing.delete(id);
  }
  return folded;
}

/** Each attempt may have its own subchannel, so a subchannel is known by its address. */
function identityOf(change: TimelineChange): string {
  return isReplaced(change) && change.name !== "" ? `subchannel ${change.name}` : change.key;
}

function isReplaced({ key }: TimelineChange): boolean {
  return key.includes("|subchannel|");
}
