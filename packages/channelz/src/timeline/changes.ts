import type { Delta } from "./delta.js";
import type { ObjectKey, Origin, SnapshotObject } from "./snapshot.js";

/** The kind of a change. */
export type ChangeKind = "appeared" | "disappeared" | "state" | "trace" | "restarted" | "origin";

/** A change in the history of a timeline. */
export interface TimelineChange {
  readonly timeMs: number;
  readonly kind: ChangeKind;
  /** The object; empty for a change of an origin. */
  readonly key: ObjectKey;
  /** For people, in one line, with text of the peer as it is. At most 300 characters. */
  readonly text: string;
}

/** The maximum number of changes per delta: a peer that replaces all its objects must not fill a history. */
const maxChangesPerDelta = 1000;
const maxTextLength = 300;

/** The changes in a delta, in the order of the objects. Advancing counters are not listed. */
export function changesIn(delta: Delta, before: readonly Origin[] = delta.origins): TimelineChange[] {
  const changes: TimelineChange[] = [];
  const add = (kind: ChangeKind, key: ObjectKey, text: string): void => {
    if (changes.length >= maxChangesPerDelta) return;
    const shown = text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1)}…`;
    changes.push({ timeMs: delta.toMs, kind, key, text: shown });
  };

  for (const origin of delta.origins) {
    const earlier = before.find(({ name }) => name === origin.name);
    if (earlier === undefined || earlier.error === origin.error) continue;
    const title = origin.target || origin.name || "The process";
    add("origin", "", origin.error === undefined ? `${title} responds again.` : `${title}: ${origin.error}`);
  }
  for (const object of delta.appeared) add("appeared", object.key, titleOf(object));
  for (const object of delta.disappeared) add("disappeared", object.key, titleOf(object));
  for (const { key, before: earlier, after, newEvents, isRestarted } of delta.changed) {
    if (isRestarted) add("restarted", key, "Its counters went backwards.");
    if (earlier.state !== after.state && earlier.state !== undefined && after.state !== undefined) {
      add("state", key, `${earlier.state} → ${after.state}`);
    }
    for (const { description } of newEvents) add("trace", key, description);
  }
  return changes;
}

function titleOf({ kind, id, name, target }: SnapshotObject): string {
  const label = name || target;
  return label ? `${kind} ${id} (${label})` : `${kind} ${id}`;
}
