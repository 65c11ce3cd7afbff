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
  /** The name of the object at that time, or its target; empty if it has neither, and for an origin. At most 300 characters. */
  readonly name: string;
  /** For people, in one line, with text of the peer as it is. At most 300 characters. */
  readonly text: string;
}

/** The maximum number of changes per delta: a peer that replaces all its objects must not fill a history. */
const maxChangesPerDelta = 1000;
const maxTextLength = 300;

/** The changes in a delta, in the order of the objects. Advancing counters are not listed. */
export function changesIn(delta: Delta, before: readonly Origin[] = delta.origins): TimelineChange[] {
  const changes: TimelineChange[] = [];
  const add = (kind: ChangeKind, object: SnapshotObject | undefined, text: string): void => {
    if (changes.length >= maxChangesPerDelta) return;
    const name = object === undefined ? "" : shortened(labelOf(object));
    changes.push({ timeMs: delta.toMs, kind, key: object?.key ?? "", name, text: shortened(text) });
  };

  for (const origin of delta.origins) {
    const earlier = before.find(({ name }) => name === origin.name);
    if (earlier === undefined || earlier.error === origin.error) continue;
    const title = origin.target || origin.name || "The process";
    add("origin", undefined, origin.error === undefined ? `${title} responds again.` : `${title}: ${origin.error}`);
  }
  for (const object of delta.appeared) add("appeared", object, titleOf(object));
  for (const object of delta.disappeared) add("disappeared", object, titleOf(object));
  for (const { before: earlier, after, newEvents, isRestarted } of delta.changed) {
    if (isRestarted) add("restarted", after, "Its counters went backwards.");
    if (earlier.state !== after.state && earlier.state !== undefined && after.state !== undefined) {
      add("state", after, `${earlier.state} → ${after.state}`);
    }
    for (const { description } of newEvents) add("trace", after, description);
  }
  return changes;
}

function shortened(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1)}…`;
}

function labelOf({ name, target }: SnapshotObject): string {
  return name || target || "";
}

function titleOf(object: SnapshotObject): string {
  const label = labelOf(object);
  return label === "" ? `${object.kind} ${object.id}` : `${object.kind} ${object.id} (${label})`;
}
