import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { dialectOf } from "../config/dialects.js";
import type { Entry } from "../config/entry.js";
import { type NamedFile, pathFrom, pathWithin } from "../config/named-file.js";
import { filesOf, outerFolderOf } from "../config/plugin-files.js";
import { resolveOrigin, type Variables } from "../config/substitute-entry.js";
import { uncoveredPrograms } from "./uncovered-code.js";

/** A file that decides what an entry runs, and the state of its content. */
export interface FileFingerprint {
  /** The field that references it, such as `headersHelper`. */
  readonly field: string;
  /**
   * Relative to the plugin root with slashes, also for manifests in parent folders (`../package.json`). Absolute for
   * other files outside the root. Empty if there is no single file.
   */
  readonly path: string;
  readonly state: "content" | FileState | "too-many";
  /** In hexadecimal digits; only if the state is `content`. */
  readonly sha256?: string | undefined;
}

/** What an approval covers: the entry as written, the files that it runs, and the origin of its url. */
export interface EntryFingerprint {
  /** A hash over all other fields: `sha256:` and 64 hexadecimal digits. The same in every folder, if no file has an absolute path. */
  readonly digest: string;
  /** The SHA-256 of the canonical form of the entry. */
  readonly entry: string;
  /** Sorted by field and path. */
  readonly files: readonly FileFingerprint[];
  /** The origin of the url, such as `https://api.example.com`; only if variables decide it and their values are usable. */
  readonly origin?: string | undefined;
  /** Whether every file could be checked. A file that could not may change unnoticed, so an approval does not cover it. */
  readonly isComplete: boolean;
  /** The programs, as written, that may run code which an approval does not cover, such as `npx`; absent if there are none. Not in the digest. */
  readonly uncovered?: readonly string[] | undefined;
}

/** The input of a fingerprint. */
export interface FingerprintOptions {
  /** The value of HOST_PLUGIN_ROOT, and the base of relative paths. */
  readonly pluginRoot: string;
  /** The variables of the url. Without them, the origin of a url with variables is unknown. */
  readonly variables?: Variables;
  /** The maximum number of bytes to read from all files; default 268,435,456. Beyond that, the fingerprint is incomplete. */
  readonly maxBytes?: number;
}

const maxFiles = 512;
const unchecked: ReadonlySet<string> = new Set(["unreadable", "too-large", "too-many", "variable"]);

/**
 * Computes the fingerprint of an entry: of everything written in it, regardless of the order of keys, and of the content of its helper, of a
 * command inside the plugin root, of files in it that the arguments reference, and of the manifests that its program reads. If variables decide the origin of the url, the origin is
 * included; no other variable is read, and nothing runs. Never rejects: a missing or unreadable file has its own state.
 *
 * The fingerprint is valid for the moment when the files are read. A user who can write them can change them before they start, because a
 * program is started by its path. So it is computed right before each start, and only file permissions close that gap. What a program loads
 * by itself, such as modules, is not included.
 */
export async function fingerprintEntry(entry: Entry, options: FingerprintOptions): Promise<EntryFingerprint> {
  const root = resolve(options.pluginRoot);
  const realRoot = await realpath(root).catch(() => root);
  const named = await filesOf(entry, root);
  const outer = outerFolderOf(entry, root);
  const contents = new Map<string, HashedFile>();
  const budget = { bytes: options.maxBytes ?? 268_435_456 };
  const files: FileFingerprint[] = [];
  const isRelative = ({ isNearby = false }: NamedFile, path: string): boolean =>
    isNearby || (outer !== undefined && pathWithin(root, path) === undefined && pathWithin(outer, path) !== undefined);
  for (const file of named.slice(0, maxFiles)) {
    const { field, path } = file;
    if (path === undefined) files.push({ field, path: "", state: "variable" });
    else if (
      path !== root &&
      (await isIncluded(file, path, [root, realRoot, ...(outer === undefined ? [] : [outer])]))
    ) {
      const hashed = contents.get(path) ?? (await hashContent(path, budget));
      contents.set(path, hashed);
      const { isNative: _, ...content } = hashed;
      if (file.isCertain || content.state !== "directory") {
        files.push({
          field,
          path: isRelative(file, path) ? pathFrom(realRoot, path) : (pathWithin(root, path) ?? path),
          ...content,
        });
      }
    }
  }
  if (named.length > maxFiles) files.push({ field: "args", path: "", state: "too-many" });
  files.sort((a, b) => compare(a.field, b.field) || compare(a.path, b.path));
  const entryHash = sha256(canonicalJson(entry.written));
  const resolved = resolveOrigin(entry, options.variables ?? {});
  const origin = resolved !== undefined && "origin" in resolved ? { origin: resolved.origin } : {};
  // The path of the file can decide whether $NAME or {env:NAME} is a variable, so the same entry can mean two things.
  const { variables } = dialectOf(entry.dialect);
  const syntax = variables === undefined ? {} : { syntax: variables };
  const uncovered = uncoveredPrograms(entry, root, (path) => {
    const hashed = contents.get(path);
    return hashed?.state === "content" ? hashed : undefined;
  });
  const parts = { format: "wirescope-entry-1", entry: entryHash, files, ...origin, ...syntax };
  return {
    digest: `sha256:${sha256(canonicalJson(parts))}`,
    entry: entryHash,
    files,
    ...origin,
    isComplete: !files.some(({ state }) => unchecked.has(state)),
    ...(uncovered.length > 0 && { uncovered }),
  };
}

/** Whether a file could not be checked, so that it may change unnoticed. */
export function isUnchecked({ state }: FileFingerprint): boolean {
  return unchecked.has(state);
}

async function isIncluded({ isCertain }: NamedFile, path: string, folders: readonly string[]): Promise<boolean> {
  if (isCertain) return true;
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => (isAbsent(error) ? undefined : path));
  if (real === undefined) return false;
  // Links out of these folders count, and so do links into them.
  return folders.some((folder) => pathWithin(folder, path) !== undefined || pathWithin(folder, real) !== undefined);
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

/** The hash of a file, or why it is missing. */
export type FileContent = { readonly state: "content"; readonly sha256: string } | { readonly state: FileState };

/**
 * Why there is no hash: the file is missing; it is a directory, or a pipe, socket or device; this user cannot read it; it is too large; or a
 * user's variable decides which file it is.
 */
export type FileState = "missing" | "directory" | "special" | "unreadable" | "too-large" | "variable";

/** A hashed file, and whether it is a program in machine code. */
type HashedFile = FileContent & { readonly isNative: boolean };

// ELF, Windows, and Mach-O in both byte orders and for several architectures.
const nativeMagic = /^(?:7f454c46|4d5a|feedfac[ef]|c[ef]faedfe|cafebabe)/;

/** The number of bytes that may still be read. */
export interface ReadBudget {
  bytes: number;
}

/** Hashes a file, following symbolic links. Never rejects. Subtracts the bytes it reads from the budget. */
async function hashContent(path: string, budget: ReadBudget): Promise<HashedFile> {
  try {
    const kind = kindOf(await stat(path));
    if (kind !== undefined) return { state: kind, isNative: false };
    // The file may have been replaced by a pipe meanwhile: opening one must not block.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const opened = await handle.stat();
    const state = kindOf(opened) ?? (opened.size > budget.bytes ? "too-large" : undefined);
    return state === undefined ? await hashHandle(handle, budget) : { state, isNative: false };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return { state: code === "ENOENT" || code === "ENOTDIR" ? "missing" : "unreadable", isNative: false };
  }
}

async function hashHandle(handle: FileHandle, budget: ReadBudget): Promise<HashedFile> {
  const hash = createHash("sha256");
  let start: Buffer | undefined;
  const buffer = Buffer.alloc(1 << 18);
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length);
    if (bytesRead === 0) {
      return { state: "content", sha256: hash.digest("hex"), isNative: nativeMagic.test(start?.toString("hex") ?? "") };
    }
    start ??= Buffer.from(buffer.subarray(0, Math.min(4, bytesRead)));
    budget.bytes -= bytesRead;
    if (budget.bytes < 0) return { state: "too-large", isNative: false };
    hash.update(buffer.subarray(0, bytesRead));
  }
}

function kindOf(stats: { isFile(): boolean; isDirectory(): boolean }): "directory" | "special" | undefined {
  if (stats.isFile()) return undefined;
  return stats.isDirectory() ? "directory" : "special";
}

/**
 * The canonical JSON of a value: equal for equal values regardless of the order of keys, and different for different values. Throws a
 * TypeError for values that JSON cannot represent.
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

/** JSON.stringify turns infinite numbers into null, and -0 into 0. */
function canonicalNumber(value: number): string {
  if (Number.isNaN(value)) throw new TypeError("JSON has no NaN.");
  if (!Number.isFinite(value)) return value > 0 ? "1e999" : "-1e999";
  return Object.is(value, -0) ? "-0" : String(value);
}
