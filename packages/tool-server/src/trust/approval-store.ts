import { constants } from "node:fs";
import { mkdir, open, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { steadyClock } from "../clock.js";
import { jsonNodeToValue, parseJsonWithPositions } from "../config/json-with-positions.js";
import { ToolServerError } from "../errors.js";
import { withFileLock } from "../files/file-lock.js";
import { removeLeftoversOf, UndurableChangeError, writePrivateFile } from "../files/private-file.js";
import { systemReason } from "../files/system-reason.js";
import { isJsonObject } from "../json-object.js";
import type { Environment } from "../process/child-environment.js";
import type { Approval, ApprovalKey, ApprovalSubject } from "./approval.js";
import { checkFolder, checkOwnership, currentUser, type Exposure, existsOrDangles } from "./file-ownership.js";
import type { EntryFingerprint, FileFingerprint } from "./fingerprint-entry.js";
import type { ToolChange } from "./render-approval.js";
import { createToolDefinitions, type DefinedTool } from "./tool-definitions.js";

/** Stores the approvals of one user, shared by all processes. Rejects with APPROVALS_UNREADABLE; a failed read never counts as empty. */
export interface ApprovalStore {
  /** The file, which may not exist yet. */
  readonly path: string;
  /** The approval of an entry, preferably for `origin`; undefined if it has none. */
  find(key: ApprovalKey, origin?: string): Promise<Approval | undefined>;
  /** Every approval, oldest first. */
  list(): Promise<readonly Approval[]>;
  /**
   * Stores an approval and resolves once it is durable. Replaces an earlier approval of the same entry, unless they differ only in the
   * origin, so that a user can approve an entry for several tenants.
   */
  approve(subject: ApprovalSubject): Promise<Approval>;
  /** Removes the approvals of an entry. Resolves to whether there were any. */
  revoke(key: ApprovalKey): Promise<boolean>;
  /**
   * Compares the tools of an approved entry with the first definitions seen since its approval, and stores those of new tools. `redact`
   * is applied to their text before. Empty if the entry has no approval. Rejects with APPROVALS_UNREADABLE.
   */
  compareTools(
    key: ApprovalKey,
    tools: readonly DefinedTool[],
    redact: (text: string) => string,
  ): Promise<readonly ToolChange[]>;
  /** The differences that the last comparison of an entry found. */
  toolChanges(key: ApprovalKey): Promise<readonly ToolChange[]>;
  /** Accepts these differences. */
  acceptTools(key: ApprovalKey, changes: readonly ToolChange[]): Promise<void>;
}

/** Options of an approval store. */
export interface ApprovalStoreOptions {
  /** The file; default `defaultApprovalsPath()`. Its folder is created if it does not exist. */
  readonly path?: string;
  /** How long to wait for other writers; default 10,000 ms. */
  readonly waitMs?: number;
}

/**
 * The default approvals file: `wirescope/approvals.json` in XDG_CONFIG_HOME or `~/.config`. Pass the environment of the process itself, never
 * one that includes a project's environment file.
 */
export function defaultApprovalsPath(environment: Environment = process.env, home: string = homedir()): string {
  const { XDG_CONFIG_HOME: configured = "" } = environment;
  // The XDG specification ignores relative paths; here, a relative path would also let a project choose the file.
  return join(isAbsolute(configured) ? configured : join(home, ".config"), "wirescope", "approvals.json");
}

/** Creates a store of approvals. Does not read or write anything yet. */
export function createApprovalStore(options: ApprovalStoreOptions = {}): ApprovalStore {
  const path = resolve(options.path ?? defaultApprovalsPath());
  const { waitMs = 10_000 } = options;
  const change = <T>(edit: (approvals: readonly Approval[]) => Edited<T>): Promise<T> => changeFile(path, waitMs, edit);
  const definitions = createToolDefinitions(join(dirname(path), "tool-definitions"));
  const find: ApprovalStore["find"] = async (key, origin) => {
    const found = (await readFile(path)).filter((approval) => hasKey(approval, key));
    return found.find(({ fingerprint }) => fingerprint.origin === origin) ?? found.at(-1);
  };
  return {
    path,
    find,
    list: () => readFile(path),
    // An approval that a power failure undoes is asked for again.
    approve: ({ configuration, server, pluginRoot, fingerprint, entry }) =>
      change((approvals) => {
        const approvedAt = new Date().toISOString();
        const { uncovered: _, ...covered } = fingerprint;
        const approval = { configuration, server, approvedAt, pluginRoot, fingerprint: covered, entry };
        const others = approvals.filter((each) => !hasKey(each, approval) || differsInOrigin(each, approval));
        return { approvals: [...others, approval], result: approval, mayBeUndone: true };
      }),
    async revoke(key) {
      const wasApproved = await change((approvals) => {
        const rest = approvals.filter((each) => !hasKey(each, key));
        return { approvals: rest, result: rest.length < approvals.length };
      });
      await definitions.remove(key);
      return wasApproved;
    },
    async compareTools(key, tools, redact) {
      const approval = await find(key);
      return approval === undefined ? [] : definitions.compare(approval, tools, redact);
    },
    async toolChanges(key) {
      const approval = await find(key);
      return approval === undefined ? [] : definitions.changes(approval);
    },
    async acceptTools(key, changes) {
      const approval = await find(key);
      if (approval !== undefined) await definitions.accept(approval, changes);
    },
  };
}

interface Edited<T> {
  readonly approvals: readonly Approval[];
  readonly result: T;
  /** Whether it is no failure if a power failure may undo the change. Default false. */
  readonly mayBeUndone?: boolean;
}

async function changeFile<T>(
  path: string,
  waitMs: number,
  edit: (approvals: readonly Approval[]) => Edited<T>,
): Promise<T> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // If the file is a link, as dotfile managers create them, it stays a link.
    const target = await realpath(path).catch(() => path);
    const exposed = await checkFolder(target);
    if (exposed !== undefined) throw fail(path, "write", exposed);
    const lock = `${target}.lock`;
    const write = async (_: AbortSignal, assertHeld: () => Promise<void>): Promise<T> => {
      const before = await readFile(path);
      await removeLeftoversOf(target);
      await removeLeftoversOf(lock, 60_000);
      const { approvals, result, mayBeUndone = false } = edit(before);
      const text = printApprovals(approvals);
      if (text.length > maxApprovalCharacters) {
        const advice = "Remove approvals that you do not need.";
        throw fail(path, "write", { reason: "the file would be too large", advice });
      }
      await writePrivateFile(target, text, assertHeld).catch((error: unknown) => {
        if (!mayBeUndone || !(error instanceof UndurableChangeError)) throw error;
      });
      return result;
    };
    return await withFileLock(lock, write, {
      waitMs,
      clock: steadyClock,
      tooLong: (holder) => {
        const advice = `If it no longer runs, delete ${lock}.`;
        return fail(path, "write", { reason: `${holder} has held the lock for too long`, advice });
      },
      lost: () => {
        const reason = "this process was suspended for too long while it held the lock";
        return fail(path, "write", { reason, advice: "Try again." });
      },
    });
  } catch (error) {
    if (ToolServerError.is(error)) throw error;
    throw unwritable(path, error);
  }
}

async function readFile(path: string): Promise<readonly Approval[]> {
  let text: string;
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) throw fail(path, "read", { reason: "it is not a file", advice: moveAway });
    const exposed = checkOwnership(stats, currentUser()) ?? (await checkFolder(await realpath(path)));
    if (exposed !== undefined) throw fail(path, "read", exposed);
    if (stats.size > 4 * maxApprovalCharacters)
      throw fail(path, "read", { reason: "it is too large", advice: moveAway });
    text = new TextDecoder("utf-8", { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    if (ToolServerError.is(error)) throw error;
    // A dangling link is not the same as a missing file: its target may be on a disk that is not mounted.
    if (codeOf(error) === "ENOENT" && !(await existsOrDangles(path))) return [];
    throw fail(path, "read", { reason: systemReason(error), advice: "" }, error);
  }
  const approvals = parseApprovals(text);
  if ("problem" in approvals) {
    const reason = `${approvals.problem}. The file was not changed`;
    throw fail(path, "read", { reason, advice: "Fix it, or move it away and approve again." });
  }
  return approvals;
}

function hasKey(approval: ApprovalKey, key: ApprovalKey): boolean {
  return approval.configuration === key.configuration && approval.server === key.server;
}

/** Whether two approvals cover the same entry and files with different origins. */
function differsInOrigin(a: ApprovalSubject, b: ApprovalSubject): boolean {
  return (
    a.fingerprint.origin !== b.fingerprint.origin &&
    a.fingerprint.entry === b.fingerprint.entry &&
    a.pluginRoot === b.pluginRoot &&
    isDeepStrictEqual(a.fingerprint.files, b.fingerprint.files)
  );
}

const moveAway = "Move it away and approve again.";

function fail(path: string, action: "read" | "write", { reason, advice }: Exposure, cause?: unknown): ToolServerError {
  const problem = `Cannot ${action} the approvals in ${path}: ${reason}.`;
  return new ToolServerError("APPROVALS_UNREADABLE", { problem, advice }, { cause });
}

function unwritable(path: string, error: unknown): ToolServerError {
  if (error instanceof UndurableChangeError) {
    const problem = `The approvals in ${path} were changed, but a power failure may undo that: ${systemReason(error.cause)}.`;
    const parts = { problem, advice: "Check the disk, and try again." };
    return new ToolServerError("APPROVALS_UNREADABLE", parts, { cause: error });
  }
  // Creating folders in a read-only file system also fails with ENOENT.
  const isMissing = codeOf(error) === "ENOENT";
  const reason = isMissing
    ? "its folder cannot be created (ENOENT); the file system may be read-only"
    : systemReason(error);
  const advice =
    "Check that its folder can be written, and that the file system is not read-only or full; or set XDG_CONFIG_HOME to the absolute path of another folder, also for a running gateway.";
  return fail(path, "write", { reason, advice }, error);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

const format = "wirescope-approvals";
const version = 1;

/** The maximum length of an approvals file, in characters. */
const maxApprovalCharacters: number = 16 * 1_048_576;

/** Parses an approvals file, or says what is wrong with it without quoting it. */
function parseApprovals(text: string): readonly Approval[] | { readonly problem: string } {
  const { root, problems } = parseJsonWithPositions(text, { maxLength: maxApprovalCharacters, maxDepth: 80 });
  const [first] = problems;
  if (first !== undefined) return { problem: `invalid JSON at line ${first.line}, column ${first.column}` };
  const file = root && jsonNodeToValue(root);
  if (!isJsonObject(file) || file.format !== format || !Array.isArray(file.approvals)) {
    return { problem: "it is not an approvals file" };
  }
  if (file.version !== version) return { problem: "it was written by another version of Wirescope" };
  const approvals = file.approvals.map(readApproval);
  const broken = approvals.indexOf(undefined);
  if (broken !== -1) return { problem: `approval ${broken + 1} of ${approvals.length} is incomplete` };
  const known = approvals.filter((approval) => approval !== undefined);
  const keys = new Set(
    known.map(({ configuration, server, fingerprint }) => JSON.stringify([configuration, server, fingerprint.origin])),
  );
  return keys.size === known.length ? known : { problem: "it contains two approvals for one entry" };
}

/** Formats an approvals file. */
function printApprovals(approvals: readonly Approval[]): string {
  return `${JSON.stringify({ format, version, approvals }, null, 2)}\n`;
}

function readApproval(value: unknown): Approval | undefined {
  if (!isJsonObject(value)) return undefined;
  const { configuration, server, pluginRoot, approvedAt, entry } = value;
  const fingerprint = readFingerprint(value.fingerprint);
  const isWhole =
    isText(configuration) && isText(server) && isText(pluginRoot) && isText(approvedAt) && isJsonObject(entry);
  if (!isWhole || fingerprint === undefined) return undefined;
  return { configuration, server, pluginRoot, approvedAt, fingerprint, entry };
}

function readFingerprint(value: unknown): EntryFingerprint | undefined {
  if (!isJsonObject(value) || !Array.isArray(value.files)) return undefined;
  const { digest, entry, origin, isComplete } = value;
  if (origin !== undefined && !isText(origin)) return undefined;
  const files = value.files.map(readFileFingerprint).filter((file) => file !== undefined);
  const isWhole =
    isText(digest) && isText(entry) && typeof isComplete === "boolean" && files.length === value.files.length;
  return isWhole ? { digest, entry, files, ...(origin === undefined ? {} : { origin }), isComplete } : undefined;
}

const states: readonly string[] = [
  "content",
  "missing",
  "directory",
  "special",
  "unreadable",
  "too-large",
  "too-many",
  "variable",
] satisfies FileFingerprint["state"][];

function readFileFingerprint(value: unknown): FileFingerprint | undefined {
  if (!isJsonObject(value)) return undefined;
  const { field, path, state, sha256 } = value;
  if (!isText(field) || !isText(path) || !isState(state)) return undefined;
  if (state !== "content") return sha256 === undefined ? { field, path, state } : undefined;
  return isText(sha256) ? { field, path, state, sha256 } : undefined;
}

function isState(value: unknown): value is FileFingerprint["state"] {
  return isText(value) && states.includes(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
