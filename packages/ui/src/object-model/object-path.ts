import type { ObjectKey, ObjectKind, Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import { objectKey } from "@wirescope/channelz/timeline";

const kinds: readonly string[] = ["channel", "subchannel", "server", "socket"] satisfies readonly ObjectKind[];

/** The address of an object in the page. Ids are unique even if the page shows several processes. */
export function objectPath({ kind, id }: Pick<SnapshotObject, "kind" | "id">): string {
  return `/object/${kind}/${id}`;
}

/** The address of the object with a key. */
export function pathOfKey(key: ObjectKey): string {
  const [id = "", kind = ""] = key.split("|").reverse();
  return `/object/${kind}/${id}`;
}

/** The kind and id in an object's address; undefined if they are invalid. */
export function parseObjectPath(
  kind: string | undefined,
  id: string | undefined,
): { readonly kind: ObjectKind; readonly id: bigint } | undefined {
  if (kind === undefined || !kinds.includes(kind) || id === undefined || !/^[1-9]\d{0,18}$/.test(id)) return undefined;
  return { kind: kind as ObjectKind, id: BigInt(id) };
}

/** The object with this kind and id, in any process. */
export function findObject({ objects, origins }: Snapshot, kind: ObjectKind, id: bigint): SnapshotObject | undefined {
  for (const { name } of origins) {
    const found = objects.get(objectKey(name, kind, id));
    if (found !== undefined) return found;
  }
  return undefined;
}
