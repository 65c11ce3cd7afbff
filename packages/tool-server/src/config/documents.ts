import { opendir, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { readBoundedFile } from "../files/bounded-file.js";
import { pathWithin } from "./plugin-files.js";

/** A text of a plugin that is written for people. */
export interface PluginDocument {
  /** The absolute path. */
  readonly file: string;
  readonly text: string;
  /** `other` is a text of the root beside the README, such as a changelog. */
  readonly kind: "readme" | "docs" | "other";
}

// A plugin comes from anybody: what is read of it is limited.
const [maxFiles, maxDepth, maxEntries] = [200, 5, 2_000];
const [maxFileBytes, maxBytes] = [1_048_576, 4_194_304];

/**
 * The README of a plugin, the other texts of its root, and those of its folder `docs`, `doc` or `documentation`. At most 200 files of
 * at most 1 MiB, 4 MiB together, and five folders deep. A symbolic link is followed only to a file of the plugin, and no folder is
 * entered through one.
 */
export async function readDocuments(pluginRoot: string): Promise<PluginDocument[]> {
  const root = await realpath(pluginRoot).catch(() => pluginRoot);
  const names: Pick<PluginDocument, "file" | "kind">[] = [];
  const look = async (folder: string, depth: number): Promise<void> => {
    for (const { name, isFolder } of await entriesOf(folder)) {
      const file = join(folder, name);
      if (isFolder) {
        const isDocs = depth > 0 || /^(?:docs?|documentation)$/i.test(name);
        if (isDocs && depth < maxDepth) await look(file, depth + 1);
      } else if (depth === 0 && /^readme(?:\.\w+)?$/i.test(name)) names.push({ file, kind: "readme" });
      else if (/\.(?:md|mdx|markdown|rst|adoc|txt|html?)$/i.test(name)) {
        names.push({ file, kind: depth === 0 ? "other" : "docs" });
      }
    }
  };
  await look(pluginRoot, 0);
  // Should there be more than are read, the README is not among those that are left out.
  names.sort((a, b) => Number(b.kind === "readme") - Number(a.kind === "readme") || (a.file < b.file ? -1 : 1));
  const documents: PluginDocument[] = [];
  let left = maxBytes;
  for (const { file, kind } of names.slice(0, maxFiles)) {
    const text = await readWithin(root, file, Math.min(maxFileBytes, left));
    if (text === undefined) continue;
    left -= text.length;
    documents.push({ file, kind, text });
  }
  return documents;
}

/** The text of a README; undefined if a plugin has none that can be read. */
export async function readReadme(pluginRoot: string): Promise<string | undefined> {
  return (await readDocuments(pluginRoot)).find(({ kind }) => kind === "readme")?.text;
}

/** The text of a regular file of a folder, or undefined; also if a symbolic link leads out of the folder. `root` has no links. */
export async function readWithin(root: string, file: string, maxSize: number): Promise<string | undefined> {
  try {
    const real = await realpath(file);
    if (pathWithin(root, real) === undefined) return undefined;
    return (await readBoundedFile(real, { maxBytes: maxSize, followLinks: false })).toString("utf8");
  } catch {
    return undefined;
  }
}

async function entriesOf(folder: string): Promise<{ readonly name: string; readonly isFolder: boolean }[]> {
  const entries: { readonly name: string; readonly isFolder: boolean }[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (entries.length === maxEntries) break;
      entries.push({ name: basename(entry.name), isFolder: entry.isDirectory() });
    }
  } catch {
    // What cannot be listed has nothing to read.
  }
  return entries;
}
