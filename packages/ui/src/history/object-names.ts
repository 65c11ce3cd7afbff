import type { ObjectKey, Snapshot, TimelineChange } from "@wirescope/channelz/timeline";

/**
 * The name of each object: its own, else that of the object it belongs to, such as the server of a socket, else its target. Objects that
 * do not exist in the snapshot have the name of their last change.
 */
export function objectNames(
  changes: readonly TimelineChange[],
  objects: Snapshot["objects"] | undefined,
): (key: ObjectKey) => string {
  const parents = new Map<ObjectKey, ObjectKey>();
  for (const { key, children } of objects?.values() ?? []) for (const child of children) parents.set(child, key);
  const absent = new Map<ObjectKey, string>();
  for (const { key, name } of changes) absent.set(key, name);
  const inherited = (key: ObjectKey | undefined, depth: number): string => {
    // Channels of other processes may refer to each other in a circle.
    if (key === undefined || depth > 8) return "";
    return objects?.get(key)?.name || inherited(parents.get(key), depth + 1);
  };
  return (key) => inherited(key, 0) || objects?.get(key)?.target || absent.get(key) || "";
}
