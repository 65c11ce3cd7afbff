import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { shellWord } from "../command-line.js";
import { readBoundedFile } from "../files/bounded-file.js";
import {
  bitsPerCharacter,
  findSecretShapes,
  isPlaceholder,
  isPlainAddress,
  isSecretName,
  type SecretShape,
} from "../secrets/recognize-secrets.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import { type ProjectDocument, readWithin } from "./documentation.js";
import type { Entry } from "./entry.js";
import { parseEnvFile } from "./env-file.js";
import type { Finding } from "./finding.js";
import { isIgnoredByGit, isTrackedByGit } from "./git-files.js";
import { filesOf } from "./plugin-files.js";

const [maxFiles, maxFileBytes] = [512, 1_048_576];
/** For how many files the git rules and index are read: a hostile repository can make each read take seconds. */
const maxCheckedFiles = 32;
const replaceIt = "and replace the credential, because everyone with access to the file has it";

/** Finds credentials in documentation files. */
export function checkDocuments(documents: readonly ProjectDocument[], search: CredentialSearch): Finding[] {
  return documents.flatMap(({ file, text }) =>
    search(text).map(({ line, column, what }) => ({
      ...at(file, line, column),
      code: "credential-in-documentation",
      severity: "error",
      message: `This file contains ${what}.`,
      fix: `Write a placeholder such as <API_TOKEN>, ${replaceIt}.`,
    })),
  );
}

/**
 * Finds files that git tracks, or would add with the next `git add`, although they should stay out of the repository: environment files,
 * and other files that contain a credential. Checks the given environment files, `.env` and its variants in `pluginRoot`, and the files
 * in it that entries reference. Finds nothing outside a git repository.
 */
export async function checkFiles(
  entries: readonly Entry[],
  pluginRoot: string,
  envFiles: readonly string[],
  search: CredentialSearch,
): Promise<Finding[]> {
  const root = resolve(pluginRoot);
  const realRoot = await realpath(root).catch(() => root);
  const given = new Set(envFiles.map((file) => resolve(file)));
  const own = (await readdir(root).catch(() => [])).filter(isEnvironmentFile).map((name) => join(root, name));
  const named: string[] = [];
  for (const entry of entries) named.push(...(await filesOf(entry, root)).flatMap(({ path }) => path ?? []));
  const findings: Finding[] = [];
  let checked = 0;
  for (const file of [...new Set([...given, ...own, ...named])].slice(0, maxFiles)) {
    const text = given.has(file)
      ? await readBoundedFile(file, { maxBytes: maxFileBytes }).then(String, () => undefined)
      : await readWithin(realRoot, file, maxFileBytes);
    const isReadable = text !== undefined && !text.includes("\0");
    const isEnvironment = given.has(file) || own.includes(file) || (isReadable && setsOnlyVariables(text, file));
    const found = isReadable ? search(text, { findsAssignments: true }) : [];
    if (!isEnvironment && found.length === 0) continue;
    checked += 1;
    if (checked > maxCheckedFiles) break;
    const isTracked = (await isTrackedByGit(file)) === true;
    const isNotIgnored = (await isIgnoredByGit(file)) === false;
    if (!isTracked && !isNotIgnored) continue;
    if (isEnvironment) findings.push(environmentFile(file, isTracked, isNotIgnored));
    for (const { line, column, what } of found) {
      findings.push({
        ...at(file, line, column),
        code: "credential-in-file",
        severity: "error",
        message: `${isTracked ? "Git tracks this file" : "This file is not in .gitignore"}, and it contains ${what}.`,
        fix: `Use a variable instead, ${replaceIt}. Commits keep the old value.`,
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

/** Whether the content is that of an environment file: it only sets variables, and at least one is a secret. */
function setsOnlyVariables(text: string, file: string): boolean {
  if (text.startsWith("#!") || isExampleFile(basename(file))) return false;
  const { variables, findings } = parseEnvFile(text, file);
  const secrets = Object.entries(variables).filter(([name, value = ""]) => isSecretName(name) && /^[^$]/.test(value));
  return findings.length === 0 && secrets.some(([, value = ""]) => !isPlaceholder(value));
}

/** The finding for an environment file that git tracks, or would add with the next `git add`. */
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
            "Git tracks this environment file, so its secrets are or will be committed even if .gitignore lists it.",
          fix: `${ignore} Run git -C ${shellWord(dirname(file))} rm --cached ${shellWord(name)}, commit that, and replace its secrets.`.trim(),
        }
      : {
          code: "env-file-not-ignored",
          message: "No .gitignore lists this environment file, so git add would add its secrets to the repository.",
          fix: ignore,
        }),
  };
}

function at(file: string, line: number, column: number): Pick<Finding, "path" | "line" | "column" | "file"> {
  return { path: [], line, column, file };
}

/** A credential that was found: its position and kind, without its value. */
export interface FoundCredential {
  readonly line: number;
  readonly column: number;
  /** For example "the value of API_TOKEN" or "what looks like a GitHub token". */
  readonly what: string;
}

/** A variable that contains a credential. */
export interface KnownCredential {
  readonly variable: string;
  readonly value: string;
}

export interface CredentialSearchOptions {
  /** Whether a line such as `API_TOKEN=abcd1234` counts; in documentation it is usually an example. Default false. */
  readonly findsAssignments?: boolean;
}

export type CredentialSearch = (text: string, options?: CredentialSearchOptions) => FoundCredential[];

const maxLine = 4_096;
/** How far before a value to look for its name: the time grows with the square of the length. */
const maxName = 128;
const maxFound = 20;

/**
 * Creates a search for credentials: by these values, plain or encoded, and by shape. Ignores placeholders, examples, and values that are
 * too short or too common. Finds at most 20 credentials per string and one per line.
 */
export function createCredentialSearch(known: readonly KnownCredential[]): CredentialSearch {
  const values = new Map<string, ReturnType<typeof createSecretRegistry>>();
  const all = createSecretRegistry();
  for (const { variable, value } of known) {
    const password = /^[\w+.-]+:\/\/[^/?#@]*?:([^/?#@]+)@/.exec(value)?.[1] ?? "";
    for (const secret of [value.trim(), password].filter(isDistinctive)) {
      const registry = values.get(variable) ?? createSecretRegistry();
      registry.add(secret);
      all.add(secret);
      values.set(variable, registry);
    }
  }
  return (text, { findsAssignments = false } = {}) => {
    const found: FoundCredential[] = [];
    const hasValue = values.size > 0 && all.redact(text) !== text;
    const lines = text.split("\n");
    for (const [index, whole] of lines.entries()) {
      if (found.length >= maxFound) break;
      const line = whole.slice(0, maxLine);
      const isHit = hasValue && all.redact(whole) !== whole;
      const [variable] = isHit ? ([...values].find(([, registry]) => registry.redact(whole) !== whole) ?? []) : [];
      const add = (what: string, column = 1): void => void found.push({ line: index + 1, column, what });
      if (variable !== undefined) {
        add(`the value of ${variable}`);
        continue;
      }
      // The shape of a key may have a "=" in it, so the name of a variable would be a part of it.
      const shown = line.replace(/(?<=(?:^|[\s"'`(|>=])[A-Za-z_]\w{0,127}=)(?=[\w+-])/g, " ");
      const shape = findSecretShapes(shown).find((each) =>
        isCredential(each, shown, lines.slice(index + 1, index + 3)),
      );
      const name = shape === undefined && findsAssignments ? assignedName(line) : undefined;
      if (shape !== undefined) add(`what looks like ${shape.looksLike}`, line.indexOf(shape.value) + 1);
      else if (name !== undefined) add(`a value for ${name}`);
    }
    return found;
  };
}

/** Whether a value is so long and unusual that a match is not a coincidence. */
function isDistinctive(value: string): boolean {
  return (
    value.length >= 8 && !isExample(value) && !isPlainAddress(value) && (value.length >= 16 || !/^[a-z]+$/i.test(value))
  );
}

const exampleWords =
  /example|your|placeholder|dummy|sample|redacted|change-?me|replace|insert|x{3}|\.{3}|\u2026|\*{3}|[<>]|\$\{|abcdef|123456|(.)\1{5}/i;
const commonPasswords = /pass|secret|user|admin|root|token|test|local|postgres/i;

function isExample(value: string): boolean {
  return isPlaceholder(value) || exampleWords.test(value) || bitsPerCharacter(value) < 2;
}

function isCredential({ value, looksLike, isCertain }: SecretShape, line: string, next: readonly string[]): boolean {
  if (looksLike === "a private key") {
    return [line.slice(line.indexOf("-----BEGIN")).replace(/^.*?KEY-----(?:\\n)?/, ""), ...next].some((text) =>
      /^\s*[A-Za-z0-9+/=]{40}/.test(text),
    );
  }
  if (isExample(value)) return false;
  if (looksLike === "a JSON Web Token") return isToken(value);
  if (looksLike === "a password in a URL") {
    return value.length >= 8 && /\d/.test(value) && /[a-z]/i.test(value) && !commonPasswords.test(value);
  }
  if (isCertain) return true;
  if (/fingerprint|gpg|pgp|commit|sha-?\d|checksum|digest/i.test(line)) return false;
  // Checksums and identifiers are random as well: the name next to the value decides.
  const at = line.indexOf(value);
  const [, name] =
    /([A-Za-z][\w-]*)["'`]?\s*[:=]\s*["'`]?(?:[A-Za-z]+\s+)?$/.exec(line.slice(Math.max(0, at - maxName), at)) ?? [];
  return name !== undefined && isSecretName(name);
}

/** Whether it has the header of a JSON Web Token, and its claims are not those of an example. */
function isToken(value: string): boolean {
  const [header = "", claims = ""] = value.split(".").map((part) => Buffer.from(part, "base64url").toString("utf8"));
  return /"alg"/.test(header) && !isExample(claims) && !/John Doe/.test(claims);
}

/** The variable that a line of a shell script or environment file sets to a literal credential. */
function assignedName(line: string): string | undefined {
  const [, name = "", , value = ""] =
    /^\s*(?:export\s+)?([A-Za-z_]\w*)=(["']?)([^\s"'$`(){}[\]]{8,})\2\s*;?\s*(?:#.*)?$/.exec(line) ?? [];
  if (!isSecretName(name) || !/\d/.test(value) || !/[a-z]/i.test(value) || /^[.~]?\//.test(value)) return undefined;
  return isExample(value) || isPlainAddress(value) ? undefined : name;
}
