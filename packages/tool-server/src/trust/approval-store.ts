import { constants } from "node:fs";
import { lstat, mkdir, open, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { steadyClock } from "../clock.js";
import { ToolServerError } from "../errors.js";
import { removeLeftoversOf, writeDurably } from "../files/durable-file.js";
import { withFileLock } from "../files/file-lock.js";
import type { Environment } from "../process/child-environment.js";
import type { Approval, ApprovalKey, ApprovalSubject } from "./approval.js";
import { mostApprovalCharacters, parseApprovals, printApprovals } from "./approval-file.js";
import { currentUser, type Exposure, judgeFolder, judgeOwnership } from "./file-ownership.js";

/** Keeps approvals for one user, for all their processes. Rejects with APPROVALS_UNREADABLE; a failed read is never "empty". */
export interface ApprovalStore {
  /** The file, whether or not it is there. */
  readonly path: string;
  /** The approval of an entry, if possible of one that leads to `origin`; undefined if it has none. */
  find(key: ApprovalKey, origin?: string): Promise<Approval | undefined>;
  /** Every approval, in the order in which they were given. */
  list(): Promise<readonly Approval[]>;
  /**
   * Keeps an approval, in place of an earlier one of the same entry, and resolves once it is durable. An earlier one that differs in
   * the origin alone stays, so that one person may use an entry with several tenants.
   */
  approve(subject: ApprovalSubject): Promise<Approval>;
  /** Takes the approvals of an entry back, and says whether there were any. */
  revoke(key: ApprovalKey): Promise<boolean>;
}

/** Where approvals are stored. */
export interface ApprovalStoreOptions {
  /** The file; default `defaultApprovalsPath()`. Its folder is made where there is none. */
  readonly path?: string;
  /** How long to wait for others who are writing; default 10,000 ms. */
  readonly patienceMs?: number;
}

/**
 * Where approvals are kept: `wirescope/approvals.json` in XDG_CONFIG_HOME, else in `~/.config`. Give the environment of the
 * process itself, never one that an environment file of a project took part in.
 */
export function defaultApprovalsPath(environment: Environment = process.env, home: string = homedir()): string {
  const { XDG_CONFIG_HOME: configured = "" } = environment;
  // The XDG specification has a relative path ignored; here it also would be a path that a project chooses.
  return join(isAbsolute(configured) ? configured : join(home, ".config"), "wirescope", "approvals.json");
}

/** Opens a store of approvals. Nothing is read or written before it is asked for. */
export function createApprovalStore(options: ApprovalStoreOptions = {}): ApprovalStore {
  const path = resolve(options.path ?? defaultApprovalsPath());
  const { patienceMs = 10_000 } = options;
  const change = <T>(edit: (approvals: readonly Approval[]) => Edited<T>): Promise<T> =>
    changeFile(path, patienceMs, edit);
  return {
    path,
    async find(key, origin) {
      const found = (await readFile(path)).filter((approval) => isOf(approval, key));
      return found.find(({ fingerprint }) => fingerprint.origin === origin) ?? found.at(-1);
    },
    list: () => readFile(path),
    approve: ({ configuration, server, pluginRoot, fingerprint, entry }) =>
      change((approvals) => {
        const approvedAt = new Date().toISOString();
        const approval = { configuration, server, approvedAt, pluginRoot, fingerprint, entry };
        const others = approvals.filter((each) => !isOf(each, approval) || differsInOrigin(each, approval));
        return { approvals: [...others, approval], result: approval };
      }),
    revoke: (key) =>
      change((approvals) => {
        const rest = approvals.filter((each) => !isOf(each, key));
        return { approvals: rest, result: rest.length < approvals.length };
      }),
  };
}

interface Edited<T> {
  readonly approvals: readonly Approval[];
  readonly result: T;
}

async function changeFile<T>(
  path: string,
  patienceMs: number,
  edit: (approvals: readonly Approval[]) => Edited<T>,
): Promise<T> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // Where the file is a link, as managers of dot files make it, it stays one.
    const target = await realpath(path).catch(() => path);
    const exposed = await judgeFolder(target);
    if (exposed !== undefined) throw fail(path, "written", exposed);
    const lock = `${target}.lock`;
    const write = async (signal: AbortSignal): Promise<T> => {
      const before = await readFile(path);
      await removeLeftoversOf(target);
      await removeLeftoversOf(lock, 60_000);
      const { approvals, result } = edit(before);
      const text = printApprovals(approvals);
      if (text.length > mostApprovalCharacters)
        throw fail(path, "written", {
          reason: "it would be too large",
          advice: "Remove approvals that you do not need.",
        });
      await writeDurably(target, text, signal);
      return result;
    };
    return await withFileLock(lock, write, {
      waitMs: patienceMs,
      clock: steadyClock,
      tooLong: (holder) => {
        const advice = `If it does not run any more, delete ${lock}.`;
        return fail(path, "written", { reason: `${holder} is writing it, and does not end`, advice });
      },
      lost: () =>
        fail(path, "written", { reason: "this process was stopped for too long meanwhile", advice: "Try again." }),
      failed: (error) => fail(path, "written", reasonOf(error), error),
    });
  } catch (error) {
    if (ToolServerError.is(error)) throw error;
    throw fail(path, "written", reasonOf(error), error);
  }
}

async function readFile(path: string): Promise<readonly Approval[]> {
  let text: string;
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await handle.stat();
    if (!facts.isFile()) throw fail(path, "read", { reason: "it is not a file", advice: movedAway });
    const exposed = judgeOwnership(facts, currentUser()) ?? (await judgeFolder(await realpath(path)));
    if (exposed !== undefined) throw fail(path, "read", exposed);
    if (facts.size > 4 * mostApprovalCharacters)
      throw fail(path, "read", { reason: "it is too large", advice: movedAway });
    text = new TextDecoder("utf-8", { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    if (ToolServerError.is(error)) throw error;
    if (codeOf(error) === "ENOENT" && !(await isLink(path))) return [];
    throw fail(path, "read", reasonOf(error), error);
  }
  const approvals = parseApprovals(text);
  if ("problem" in approvals) {
    const reason = `${approvals.problem}. It is kept as it is`;
    throw fail(path, "read", { reason, advice: "Fix it, or move it away and approve again." });
  }
  return approvals;
}

/** A link to nothing is not the same as no file: what it should lead to may be on a disk that is not there now. */
async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isOf(approval: ApprovalKey, key: ApprovalKey): boolean {
  return approval.configuration === key.configuration && approval.server === key.server;
}

/** Whether two approvals are of one entry, with the same files, that leads to two origins. */
function differsInOrigin(a: ApprovalSubject, b: ApprovalSubject): boolean {
  return (
    a.fingerprint.origin !== b.fingerprint.origin &&
    a.fingerprint.entry === b.fingerprint.entry &&
    a.pluginRoot === b.pluginRoot &&
    isDeepStrictEqual(a.fingerprint.files, b.fingerprint.files)
  );
}

const movedAway = "Move it away and approve again.";

function fail(path: string, what: "read" | "written", { reason, advice }: Exposure, cause?: unknown): ToolServerError {
  const problem = `The approvals in ${path} cannot be ${what}: ${reason}.`;
  return new ToolServerError("APPROVALS_UNREADABLE", { problem, advice }, { cause });
}

function reasonOf(error: unknown): Exposure {
  const code = String(codeOf(error) ?? "unknown reason");
  return { reason: reasons[code] ?? code, advice: "" };
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "this user may not",
  EPERM: "this user may not",
  ENOENT: "a part of its path is not there",
  ENOTDIR: "a part of its path is no folder",
  EROFS: "the file system is read-only",
  ENOSPC: "there is no space left",
  ERR_ENCODING_INVALID_ENCODED_DATA: "it is not UTF-8",
};

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
