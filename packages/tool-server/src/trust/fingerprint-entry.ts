import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Entry } from "../config/entry.js";
import { filesOf, type NamedFile, pathWithin } from "../config/plugin-files.js";
import { resolveOrigin, type Variables } from "../config/substitute-entry.js";

/** A file that decides what an entry runs, and what is known of its content. */
export interface FileFingerprint {
  /** The field that names it, as `headersHelper`. */
  readonly field: string;
  /** From the plugin's root with slashes, or absolute where it is elsewhere; empty where there is no one file. */
  readonly path: string;
  readonly state: "content" | FileState | "too-many";
  /** In hexadecimal digits; only where the state is `content`. */
  readonly sha256?: string | undefined;
}

/** What an approval is of: an entry as it is written, the files that it runs, and where its url leads. */
export interface EntryFingerprint {
  /** Of all the rest: `sha256:` and 64 hexadecimal digits. The same in every folder, if all files of the plugin are in it. */
  readonly digest: string;
  /** The SHA-256 of the canonical form of the entry. */
  readonly entry: string;
  /** Sorted by field and path. */
  readonly files: readonly FileFingerprint[];
  /** The origin that the url leads to, as `https://api.example.com`; only if variables decide it, and their values can be used. */
  readonly origin?: string | undefined;
  /** Whether all of it could be looked at. What could not may change unseen, so that an approval does not cover it. */
  readonly isComplete: boolean;
}

/** What a fingerprint is taken with. */
export interface FingerprintOptions {
  /** The value of HOST_PLUGIN_ROOT, and where relative paths start. */
  readonly pluginRoot: string;
  /** The variables that the url is resolved with. Without them, a url with variables has no origin. */
  readonly variables?: Variables;
  /** How many bytes of files are read at most, all together; default 268,435,456. What is larger is not complete. */
  readonly maxBytes?: number;
}

const mostFiles = 512;
const unchecked: ReadonlySet<string> = new Set(["unreadable", "too-large", "too-many", "variable"]);

/**
 * Takes the fingerprint of an entry: of all that is written in it, whatever the order of its keys, and of the content of its
 * helper, of a command that is a path of the plugin, and of the plugin's files that its arguments name. If variables decide where
 * the url leads, its origin is part of it; no other variable is looked up, and nothing is run. Never rejects: what is missing or
 * cannot be read is a state of its own.
 *
 * It is true of the moment in which the files are read. Who can write them can change them between this and their start, for
 * a program is started by its path; so it is taken right before each start, and a file that its user alone may write is
 * all that closes the gap. What a program loads by itself, such as modules, is not part of it.
 */
export async function fingerprintEntry(entry: Entry, options: FingerprintOptions): Promise<EntryFingerprint> {
  const root = resolve(options.pluginRoot);
  const realRoot = await realpath(root).catch(() => root);
  const named = filesOf(entry, root);
  const contents = new Map<string, FileContent>();
  const budget = { bytes: options.maxBytes ?? 268_435_456 };
  const files: FileFingerprint[] = [];
  for (const file of named.slice(0, mostFiles)) {
    const { field, path } = file;
    if (path === undefined) files.push({ field, path: "", state: "variable" });
    else if (path !== root && (await counts(file, path, root, realRoot))) {
      const content = contents.get(path) ?? (await hashContent(path, budget));
      contents.set(path, content);
      if (file.isCertain || content.state !== "directory") {
        files.push({ field, path: pathWithin(root, path) ?? path, ...content });
      }
    }
  }
  if (named.length > mostFiles) files.push({ field: "args", path: "", state: "too-many" });
  files.sort((a, b) => compare(a.field, b.field) || compare(a.path, b.path));
  const entryHash = sha256(canonicalJson(entry.written));
  const resolved = resolveOrigin(entry, options.variables ?? {});
  const origin = resolved !== undefined && "origin" in resolved ? { origin: resolved.origin } : {};
  const parts = { format: "wirescope-entry-1", entry: entryHash, files, ...origin };
  return {
    digest: `sha256:${sha256(canonicalJson(parts))}`,
    entry: entryHash,
    files,
    ...origin,
    isComplete: !files.some(({ state }) => unchecked.has(state)),
  };
}

/** Whether a file could not be looked at, so that it may change unseen. */
export function isUnchecked({ state }: FileFingerprint): boolean {
  return unchecked.has(state);
}

async function counts({ isCertain }: NamedFile, path: string, root: string, realRoot: string): Promise<boolean> {
  if (isCertain) return true;
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => (isAbsent(error) ? undefined : path));
  if (real === undefined) return false;
  // A link of the plugin that leads out of it counts, and so does one that leads into it.
  return pathWithin(root, path) !== undefined || pathWithin(realRoot, real) !== undefined;
}

function isAbsent({ code }: NodeJS.ErrnoException): boolean {
  return code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG";
}

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What is known of the content of a file. */
export type FileContent = { readonly state: "content"; readonly sha256: string } | { readonly state: FileState };

/**
 * Why there is no hash: nothing is there; it is a directory, or a pipe, socket or device; this user may not read it, though
 * perhaps run it; it is larger than is read; or a variable of the user decides which file it is.
 */
export type FileState = "missing" | "directory" | "special" | "unreadable" | "too-large" | "variable";

/** How many bytes may still be read. */
export interface ReadBudget {
  bytes: number;
}

/** The hash of a file, symbolic links followed. Never rejects. What it reads, it takes from the budget. */
export async function hashContent(path: string, budget: ReadBudget): Promise<FileContent> {
  try {
    const kind = kindOf(await stat(path));
    if (kind !== undefined) return { state: kind };
    // Between the two a pipe may have come: to open one must not wait for its other end.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const opened = await handle.stat();
    const state = kindOf(opened) ?? (opened.size > budget.bytes ? "too-large" : undefined);
    return state === undefined ? await hashHandle(handle, budget) : { state };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return { state: code === "ENOENT" || code === "ENOTDIR" ? "missing" : "unreadable" };
  }
}

async function hashHandle(handle: FileHandle, budget: ReadBudget): Promise<FileContent> {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(1 << 18);
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return { state: "content", sha256: hash.digest("hex") };
    budget.bytes -= bytesRead;
    if (budget.bytes < 0) return { state: "too-large" };
    hash.update(buffer.subarray(0, bytesRead));
  }
}

function kindOf(facts: { isFile(): boolean; isDirectory(): boolean }): "directory" | "special" | undefined {
  if (facts.isFile()) return undefined;
  return facts.isDirectory() ? "directory" : "special";
}

/**
 * A value of JSON as one text: the same for the same value whatever the order of keys, and another for any other value.
 * Arrays keep their order. Throws a TypeError for what JSON does not have.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return canonicalNumber(value);
  if (value === null || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object") throw new TypeError(`JSON has no ${typeof value}.`);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${members.join(",")}}`;
}

/** JSON.stringify makes null of what is too large for a number, and 0 of -0. */
function canonicalNumber(value: number): string {
  if (Number.isNaN(value)) throw new TypeError("JSON has no NaN.");
  if (!Number.isFinite(value)) return value > 0 ? "1e999" : "-1e999";
  return Object.is(value, -0) ? "-0" : String(value);
}
