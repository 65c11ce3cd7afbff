import { lstat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { readBoundedFile } from "../files/bounded-file.js";

const maxRulesBytes = 262_144;
/** Each `**` of a rule multiplies the matching time by the depth of the path, and a hostile repository controls both. */
const [maxDoubleStars, maxDepth] = [2, 64];

/**
 * Whether the `.gitignore` files of the repository that contains `file`, or its `.git/info/exclude`, ignore it; undefined outside a
 * repository, or more than 64 folders deep in it. Only reads these files: git itself would run programs that the repository's configuration names.
 */
export async function isIgnoredByGit(file: string): Promise<boolean | undefined> {
  const path = resolve(file);
  const root = await repositoryOf(dirname(path));
  if (root === undefined) return undefined;
  // Shallow to deep: the rules of a deeper folder take precedence.
  const rules: { readonly folder: string; readonly ignores: Ignore }[] = [];
  const add = async (folder: string, rulesFile: string): Promise<void> => {
    // Git does not follow a link here either.
    const text = await readBoundedFile(rulesFile, { maxBytes: maxRulesBytes, followLinks: false }).catch(
      () => undefined,
    );
    if (text === undefined) return;
    const lines = text.toString("utf8").split("\n");
    const quick = lines.filter((line) => line.split("**").length - 1 <= maxDoubleStars);
    rules.push({ folder, ignores: ignore({ ignorecase: false }).add(quick.join("\n")) });
  };
  await add(root, join(root, ".git", "info", "exclude"));
  const steps = relative(root, path).split(sep);
  if (steps.length > maxDepth) return undefined;
  for (const [depth, step] of steps.entries()) {
    const folder = join(root, ...steps.slice(0, depth));
    await add(folder, join(folder, ".gitignore"));
    const isLast = depth === steps.length - 1;
    let isIgnored = false;
    for (const { folder: base, ignores } of rules) {
      const inner = relative(base, join(folder, step)).split(sep).join("/");
      const { ignored, unignored } = ignores.test(isLast ? inner : `${inner}/`);
      if (ignored || unignored) isIgnored = ignored;
    }
    // Rules inside an ignored folder cannot include its files again.
    if (isIgnored) return true;
  }
  return false;
}

/** The nearest folder with a `.git`, which is a file in a worktree or submodule. */
async function repositoryOf(start: string): Promise<string | undefined> {
  for (let folder = start; ; folder = dirname(folder)) {
    const isRepository = await lstat(join(folder, ".git")).then(
      () => true,
      () => false,
    );
    if (isRepository) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

const maxIndexBytes = 16_777_216;
const maxNameBytes = 4096;
/** The bytes of an object id: SHA-1, and SHA-256 in the repositories that use it. */
const idSizes = [20, 32];
const [isExtended, lengthMask] = [0x4000, 0x0fff];

/**
 * Whether the index of the repository of `file` contains it, so that commits contain it too, even if `.gitignore` lists it; undefined outside
 * a repository, or if the index cannot be read. Only reads it: git itself would run programs that the repository's configuration names.
 */
export async function isTrackedByGit(file: string): Promise<boolean | undefined> {
  const path = resolve(file);
  const root = await repositoryOf(dirname(path));
  if (root === undefined) return undefined;
  try {
    const index = await readBoundedFile(join(await gitDirectoryOf(root), "index"), {
      maxBytes: maxIndexBytes,
      followLinks: false,
    });
    const name = Buffer.from(relative(root, path).split(sep).join("/"));
    for (const idBytes of idSizes) {
      const isFound = hasEntry(index, name, idBytes);
      if (isFound !== undefined) return isFound;
    }
    return undefined;
  } catch (error) {
    // Without an index nothing was ever added.
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? false : undefined;
  }
}

/** In a worktree or submodule, `.git` is a file that names the folder. */
async function gitDirectoryOf(root: string): Promise<string> {
  const path = join(root, ".git");
  if ((await lstat(path)).isDirectory()) return path;
  const text = (await readBoundedFile(path, { maxBytes: maxNameBytes, followLinks: false })).toString("utf8");
  return resolve(root, text.replace(/^gitdir: /, "").trimEnd());
}

/** Whether an index in the format of git (gitformat-index, versions 2 to 4) has an entry; undefined if it has another format. */
function hasEntry(index: Buffer, path: Buffer, idBytes: number): boolean | undefined {
  if (index.length < 12 || index.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const [version, count] = [index.readUInt32BE(4), index.readUInt32BE(8)];
  if (version < 2 || version > 4) return undefined;
  let at = 12;
  let previous: Buffer = Buffer.alloc(0);
  let isFound = false;
  for (let entry = 0; entry < count; entry += 1) {
    const flagsAt = at + 40 + idBytes;
    if (flagsAt + 2 > index.length) return undefined;
    const flags = index.readUInt16BE(flagsAt);
    let nameAt = flagsAt + (flags & isExtended ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      const dropped = readOffset(index, nameAt);
      kept = previous.length - dropped.value;
      nameAt = dropped.end;
    }
    const end = index.indexOf(0, nameAt);
    if (end === -1 || kept < 0 || kept + end - nameAt > maxNameBytes) return undefined;
    const name: Buffer = Buffer.concat([previous.subarray(0, kept), index.subarray(nameAt, end)]);
    // An index with ids of another size would not fit the lengths that it states.
    if ((flags & lengthMask) !== Math.min(name.length, lengthMask)) return undefined;
    isFound ||= name.equals(path);
    at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7);
    if (version === 4) previous = name;
  }
  // The other entries of a split index are in another file.
  return isFound || index.toString("latin1", at, at + 4) !== "link" ? isFound : undefined;
}

/** The variable-length integer with which version 4 encodes how many bytes of the previous name are dropped. */
function readOffset(index: Buffer, start: number): { readonly value: number; readonly end: number } {
  let value = -1;
  for (let at = start; ; at += 1) {
    const byte = index[at] ?? 0;
    value = (value + 1) * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + 1 };
  }
}
