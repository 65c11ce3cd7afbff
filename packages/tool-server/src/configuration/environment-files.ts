import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Finding } from "./finding.js";

/**
 * Finds environment files that git tracks, or would with the next `git add`: those given, and `.env` and its kin in the
 * plugin's root. Files for examples are left out. Without git, or outside a repository, there is nothing to find.
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
  const at = { path: [], line: 1, column: 1, file };
  const name = basename(file);
  const tracked = await git(file, "ls-files", "--error-unmatch", "--", name);
  if (tracked === 0) {
    return {
      ...at,
      code: "env-file-tracked",
      severity: "error",
      message: "Git tracks this environment file, so its secrets are in the history.",
      fix: `Run git rm --cached ${name}, add it to .gitignore, and have the secrets replaced.`,
    };
  }
  // 128 and the like: there is no repository, or no git. Only a plain no is an answer.
  if (tracked !== 1 || (await git(file, "check-ignore", "--quiet", "--", name)) !== 1) return undefined;
  return {
    ...at,
    code: "env-file-not-ignored",
    severity: "warning",
    message: "Git does not ignore this environment file: the next git add may take it.",
    fix: `Add ${name} to .gitignore.`,
  };
}

/** Runs git where the file is and gives its exit code; undefined where it could not be run. */
function git(file: string, ...args: readonly string[]): Promise<number | undefined> {
  // The configuration of a repository can name programs to run. A repository that is only looked at must not run them.
  const safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"];
  return new Promise((done) => {
    execFile("git", [...safe, ...args], { cwd: dirname(file), timeout: 5_000, env: gitEnvironment() }, (error) => {
      done(error === null ? 0 : typeof error.code === "number" ? error.code : undefined);
    });
  });
}

/** What git needs of the environment; its own variables could point it at another repository. */
function gitEnvironment(): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" };
}
