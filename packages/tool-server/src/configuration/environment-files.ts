import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { shellWord } from "../process/shell-word.js";
import type { Finding } from "./finding.js";
import { isIgnoredByGit } from "./ignored-by-git.js";

/**
 * Finds environment files that the next `git add` would commit: the given ones, and `.env` and its variants in the plugin's
 * root. Files that serve as examples do not count. Outside a repository there is nothing to find.
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
  if ((await isIgnoredByGit(file)) !== false) return undefined;
  const name = basename(file);
  return {
    path: [],
    line: 1,
    column: 1,
    file,
    code: "env-file-not-ignored",
    severity: "warning",
    message: "No .gitignore of the repository covers this environment file, so its secrets are or will be committed.",
    fix: `Add ${name} to .gitignore. If it was committed before, run git rm --cached ${shellWord(name)} and replace its secrets.`,
  };
}
