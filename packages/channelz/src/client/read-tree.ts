import type { Source } from "../source.js";
import { type ReadInventoryOptions, readInventory } from "./read-inventory.js";
import { plantTree, type Tree } from "./tree.js";

/** How a tree is read. `maxObjects` counts channels with subchannels, servers, and sockets, each separately. */
export type ReadTreeOptions = ReadInventoryOptions<"summary" | "refs">;

/**
 * Reads the whole tree of a source: channels down to their sockets, servers and theirs. What closes meanwhile is left out. If
 * reading stops early, the tree holds what was read until then, and `stoppedBy` says why; it rejects if nothing was read.
 */
export async function readTree(source: Source, options: ReadTreeOptions = {}): Promise<Tree> {
  return plantTree(await readInventory(source, options));
}
