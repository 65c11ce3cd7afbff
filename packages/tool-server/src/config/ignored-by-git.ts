import { lstat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { readBoundedFile } from "../files/bounded-file.js";

const maxBytes = 262_144;
/** Each `**` of a rule multiplies the time to match it by the depth of the path, and a hostile repository chooses both. */
const [maxDoubleStars, maxDepth] = [2, 64];

/**
 * Whether the `.gitignore` files of the repository that holds `file`, or its `.git/info/exclude`, ignore it; undefined outside a
 * repository, or more than 64 folders deep in it. Only reads these files: git itself would run programs that the repository's configuration names.
 */
export async function isIgnoredByGit(file: string): Promise<boolean | undefined> {
  const path = resolve(file);
  const root = await repositoryOf(dirname(path));
  if (root === undefined) return undefined;
  // Shallow to deep: the rules of a deeper folder count more.
  const rules: { readonly folder: string; readonly ignores: Ignore }[] = [];
  const add = async (folder: string, rulesFile: string): Promise<void> => {
    // Git does not follow a link here either.
    const text = await readBoundedFile(rulesFile, { maxBytes, followLinks: false }).catch(() => undefined);
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
    // What is in an ignored folder cannot be taken back by rules within it.
    if (isIgnored) return true;
  }
  return false;
}

/** The nearest folder with a `.git`, which is a file in a worktree or submodule. */
export async function repositoryOf(start: string): Promise<string | undefined> {
  for (let folder = start; ; folder = dirname(folder)) {
    const isRepository = await lstat(join(folder, ".git")).then(
      () => true,
      () => false,
    );
    if (isRepository) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}
