import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { shellWord } from "../process/shell-word.js";
import type { Finding } from "./finding.js";
import { isIgnoredByGit } from "./ignored-by-git.js";
import { isTrackedByGit } from "./tracked-by-git.js";

/**
 * Finds environment files that git tracks, or that the next `git add` would commit: the given ones, and `.env` and its variants in the
 * plugin's root. Files that serve as examples do not count. Outside a repository there is nothing to find.
 */
export async function judgeEnvironmentFiles(root: string, given: readonly string[]): Promise<Finding[]> {
  const files = new Set(given.map((file) => resolve(file)));
  for (const name of await readdir(root).catch(() => [])) {
    if (isEnvironmentFile(name)) files.add(join(resolve(root), name));
  }
  const findings = await Promise.all([...files].map(judgeFile));
  return findings.flatMap((finding) => finding ?? []);
}

function isEnvironmentFile(name: string): boolean {
  return /^\.env(?:\..+)?$/.test(name) && !/\.(?:example|sample|template|dist|defaults?|schema|md)$/i.test(name);
}

async function judgeFile(file: string): Promise<Finding | undefined> {
  const isNotIgnored = (await isIgnoredByGit(file)) === false;
  const isTracked = (await isTrackedByGit(file)) === true;
  if (!isNotIgnored && !isTracked) return undefined;
  const name = basename(file);
  const ignore = isNotIgnored ? `Add ${name} to .gitignore.` : "";
  return {
    path: [],
    line: 1,
    column: 1,
    file,
    severity: "warning",
    ...(isTracked
      ? {
          code: "env-file-tracked",
          message:
            "Git tracks this environment file, so its secrets are or will be committed, whatever .gitignore says.",
          fix: `${ignore} Run git -C ${shellWord(dirname(file))} rm --cached ${shellWord(name)}, commit that, and replace its secrets.`.trim(),
        }
      : {
          code: "env-file-not-ignored",
          message: "No .gitignore of the repository covers this environment file, so git add would commit its secrets.",
          fix: ignore,
        }),
  };
}
