import type { ObjectKey, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { objectLabel, objectPath, objectTitle, parentsOf, shortTitle } from "../object-model/index.js";
import { Link } from "../shell/routing/index.js";
import { snapshot } from "../shell/store/index.js";

/** More levels than any implementation has; references from a hostile peer may be endless. */
const maxLevels = 8;

/** The path from the process to the object, through the first parent of each. */
export function Breadcrumbs({
  object,
  isPanel,
}: {
  readonly object: SnapshotObject;
  readonly isPanel: boolean;
}): VNode | null {
  const now = snapshot.value;
  const ancestors = now === undefined ? [] : ancestorsOf(now, object.key);
  if (ancestors.length === 0) return null;
  return (
    <nav class="breadcrumbs" aria-label="Parents">
      <ol>
        {ancestors.map((ancestor) => (
          <li key={ancestor.key}>
            <Link to={objectPath(ancestor)} inPanel={isPanel}>
              {titled(ancestor)}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function titled(object: SnapshotObject): string {
  const title = shortTitle(objectTitle(object)).slice(0, 40);
  const label = objectLabel(object);
  return title === label ? label : `${title} (${label})`;
}

/** From the top down. */
function ancestorsOf(now: Snapshot, key: ObjectKey): SnapshotObject[] {
  const found: SnapshotObject[] = [];
  for (let next = key; found.length < maxLevels; ) {
    const [parent] = parentsOf(now, next);
    if (parent === undefined || found.includes(parent)) break;
    found.unshift(parent);
    next = parent.key;
  }
  return found;
}
