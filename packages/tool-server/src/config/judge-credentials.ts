import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { shellWord } from "../command-line.js";
import { readBoundedFile } from "../files/bounded-file.js";
import { isPlaceholder } from "../secrets/placeholder.js";
import { isSecretName } from "../secrets/secret-names.js";
import type { CredentialSearch } from "./credential-search.js";
import { type PluginDocument, readWithin } from "./documents.js";
import type { Entry } from "./entry.js";
import type { Finding } from "./finding.js";
import { isIgnoredByGit } from "./ignored-by-git.js";
import { parseEnvFile } from "./parse-env-file.js";
import { filesOf } from "./plugin-files.js";
import { isTrackedByGit } from "./tracked-by-git.js";

const [maxFiles, maxFileBytes] = [512, 1_048_576];
/** How many files the rules and the index of a repository are read for: a hostile one makes each take seconds. */
const maxJudged = 32;
const replaceIt = "and replace the credential itself, because everyone with the file has it";

/** Finds credentials in the documents of a plugin. */
export function judgeDocuments(documents: readonly PluginDocument[], search: CredentialSearch): Finding[] {
  return documents.flatMap(({ file, text }) =>
    search(text).map(({ line, column, what }) => ({
      ...at(file, line, column),
      code: "credential-in-documentation",
      severity: "error",
      message: `This document holds ${what}.`,
      fix: `Write a placeholder such as <API_TOKEN>, ${replaceIt}.`,
    })),
  );
}

/**
 * Finds files that are in version control, or will be with the next `git add`, and should not be: environment files, and others that
 * hold a credential. Looks at the environment files that are given, at `.env` and its variants in the plugin's root, and at the files
 * of the plugin that entries name. Outside a repository there is nothing to find.
 */
export async function judgeFiles(
  entries: readonly Entry[],
  pluginRoot: string,
  envFiles: readonly string[],
  search: CredentialSearch,
): Promise<Finding[]> {
  const root = resolve(pluginRoot);
  const realRoot = await realpath(root).catch(() => root);
  const given = new Set(envFiles.map((file) => resolve(file)));
  const own = (await readdir(root).catch(() => [])).filter(isEnvironmentFile).map((name) => join(root, name));
  const named = entries.flatMap((entry) => filesOf(entry, root)).flatMap(({ path }) => path ?? []);
  const findings: Finding[] = [];
  let judged = 0;
  for (const file of [...new Set([...given, ...own, ...named])].slice(0, maxFiles)) {
    const text = given.has(file)
      ? await readBoundedFile(file, { maxBytes: maxFileBytes }).then(String, () => undefined)
      : await readWithin(realRoot, file, maxFileBytes);
    const isReadable = text !== undefined && !text.includes("\0");
    const isEnvironment = given.has(file) || own.includes(file) || (isReadable && holdsVariables(text, file));
    const found = isReadable ? search(text, { findsAssignments: true }) : [];
    if (!isEnvironment && found.length === 0) continue;
    judged += 1;
    if (judged > maxJudged) break;
    const isTracked = (await isTrackedByGit(file)) === true;
    const isNotIgnored = (await isIgnoredByGit(file)) === false;
    if (!isTracked && !isNotIgnored) continue;
    if (isEnvironment) findings.push(environmentFile(file, isTracked, isNotIgnored));
    for (const { line, column, what } of found) {
      findings.push({
        ...at(file, line, column),
        code: "credential-in-file",
        severity: "error",
        message: `${isTracked ? "Git tracks this file" : "No .gitignore covers this file"}, and it holds ${what}.`,
        fix: `Take it from a variable, ${replaceIt}. The history of the repository keeps what was committed.`,
      });
    }
  }
  return findings;
}

function isEnvironmentFile(name: string): boolean {
  return /^\.env(?:\..+)?$/.test(name) && !isExampleFile(name);
}

function isExampleFile(name: string): boolean {
  return /\.(?:example|sample|template|dist|defaults?|schema|md)$/i.test(name);
}

/** Whether a file is an environment file by its content, whatever its name: it sets variables alone, a secret among them. */
function holdsVariables(text: string, file: string): boolean {
  if (text.startsWith("#!") || isExampleFile(basename(file))) return false;
  const { variables, findings } = parseEnvFile(text, file);
  const secrets = Object.entries(variables).filter(([name, value = ""]) => isSecretName(name) && /^[^$]/.test(value));
  return findings.length === 0 && secrets.some(([, value = ""]) => !isPlaceholder(value));
}

/** What is wrong with an environment file that git tracks, or would with the next `git add`. */
function environmentFile(file: string, isTracked: boolean, isNotIgnored: boolean): Finding {
  const name = basename(file);
  const ignore = isNotIgnored ? `Add ${name} to .gitignore.` : "";
  return {
    ...at(file, 1, 1),
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

function at(file: string, line: number, column: number): Pick<Finding, "path" | "line" | "column" | "file"> {
  return { path: [], line, column, file };
}
