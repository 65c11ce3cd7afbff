import type { Source } from "../source.js";
import { type ReadInventoryOptions, readInventory } from "./read-inventory.js";
import { plantTree, type Tree } from "./tree.js";

/** Options for reading a tree. `maxObjects` counts channels with subchannels, servers, and sockets, each separately. */
export type ReadTreeOptions = ReadInventoryOptions<"summary" | "refs">;

/**
 * Reads the whole tree of a source: channels and servers, down to their sockets. Objects that close meanwhile are left out. If
 * reading stops early, the tree contains what was read until then, and `stoppedBy` the reason; it rejects if nothing was read.
 */
export async function readTree(source: Source, options: ReadTreeOptions = {}): Promise<Tree> {
  return plantTree(await readInventory(source, options));
}
