import { execFile } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readdir, readlink, realpath, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { printableText } from "../printable-text.js";
import type { Environment } from "./child-environment.js";
import { resolveCommand } from "./resolve-command.js";

/** How to start bubblewrap so that a program cannot see some files and cannot inspect other processes. */
export interface Sandbox {
  /** The path of bubblewrap. */
  readonly path: string;
  readonly args: readonly string[];
  /** The folders that are hidden, without symbolic links. */
  readonly hidden: readonly string[];
  /** The paths in them that stay visible. */
  readonly visible: readonly string[];
}

/** Why no sandbox is available. */
export interface SandboxAbsence {
  /** A sentence that says what is missing, and what to do. */
  readonly reason: string;
  /** Whether the user can fix it on this machine. */
  readonly isFixable: boolean;
}

export interface SandboxOptions {
  /** Files, and folders with a final slash. A folder that does not exist is created. */
  readonly hidden: readonly string[];
  /**
   * The working directory of the program. It stays visible inside a hidden folder; if it is itself a hidden folder, its current
   * content stays visible, except our own files.
   */
  readonly cwd: string;
  /**
   * Whether the program sees only its own processes, all of which end with it. If not, it sees other processes, but cannot read their
   * memory, their environment or files through them; a daemon that it starts keeps running. Default true.
   */
  readonly hidesProcesses?: boolean | undefined;
  /** The search path for bubblewrap. Default: the PATH of this process. */
  readonly searchPath?: string | undefined;
}

/** What to do about a program that does not work in the sandbox. */
export const sandboxAdvice = {
  hidden: 'Move the project elsewhere, or turn it off with "sandbox": false.',
  failed: 'If it works there, the sandbox may be the reason: turn it off with "sandbox": false.',
} as const;

const probeMs = 10_000;

// Options of bubblewrap 0.4 and later only.
const allFiles = ["--dev-bind", "/", "/"];
const ownProcesses = ["--unshare-pid", "--proc", "/proc"];

/**
 * Protects processes that stay visible: the kernel lets no process in a user namespace inspect one outside of it. Root would lose its
 * access to other users' files there; it is kept out because it lacks capabilities that those processes have.
 */
const closedProcesses = ["--unshare-user"];

/**
 * The capabilities with which root could escape the sandbox: unmount, trace, open files by inode, load kernel code; and
 * CAP_PERFMON, which reads the environment of other processes, and CAP_BPF, by number because libcap before 2.43 has no names for them.
 */
const droppedCapabilities = [
  ...["CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_MKNOD", "CAP_SYS_RAWIO", "CAP_SYS_MODULE"],
  ...["CAP_SYS_BOOT", "38", "39"],
];

/** The folders of Wirescope itself: tokens, keys, approvals, settings, compiled code, and the address of a running gateway. */
export function ownFolders(environment: Environment = process.env): string[] {
  const home = environment.HOME || homedir();
  const base = (name: string, ...fallback: readonly string[]): string => {
    const configured = environment[name] ?? "";
    return isAbsolute(configured) ? configured : join(home, ...fallback);
  };
  const bases = [
    base("XDG_CONFIG_HOME", ".config"),
    base("XDG_DATA_HOME", ".local", "share"),
    base("XDG_CACHE_HOME", ".cache"),
    base("XDG_RUNTIME_DIR", ".local", "state"),
  ];
  return bases.map((each) => join(each, "wirescope", "/"));
}

/** Prepares a sandbox that hides these files, if one is available on this machine. */
export async function prepareSandbox(options: SandboxOptions): Promise<Sandbox | SandboxAbsence> {
  const { searchPath = process.env.PATH ?? "", hidesProcesses = true } = options;
  const found = await findBubblewrap(searchPath, hidesProcesses);
  if ("reason" in found) return found;
  const cwd = await realpath(options.cwd).catch(() => options.cwd);
  const resolved = await Promise.all(options.hidden.map(resolveHidden));
  const existing = resolved.flat();
  const folders = existing.filter(({ isFolder }) => isFolder).map(({ path }) => path);
  const outermost = existing.filter(({ path }) => !folders.some((folder) => isInside(path, folder)));
  const unique = new Map(outermost.map((each) => [each.path, each]));
  const isHidden = (path: string): boolean => existing.some((each) => each.path === path);
  const inCwd = unique.has(cwd) ? (await projectFilesIn(cwd)).filter((path) => !isHidden(path)) : [cwd];
  const visible = inCwd.filter((path) => folders.some((folder) => isInside(path, folder)));
  const args = [...unique.values()].flatMap(({ path, isFolder }) => {
    if (!isFolder) return ["--ro-bind", "/dev/null", path];
    const binds = visible.filter((each) => isInside(each, path)).flatMap((each) => ["--bind", each, each]);
    // Read-only, because files written there would be lost with the sandbox.
    return ["--tmpfs", path, ...binds, "--remount-ro", path];
  });
  return { path: found.path, args: [...found.args, ...args], hidden: folders, visible };
}

/** Our own configuration files. They are hidden even if a project is in the same folder. */
const ownNames = /^(?:token|tokens|vault[.-]key|environment|(?:approvals|gateway|oauth)\.json.*)$/;

async function projectFilesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => !ownNames.test(name)).map((name) => join(folder, name));
}

/** The folder with which a sandbox hides this file; undefined if the file stays visible. */
export async function hiddenBy({ hidden, visible }: Sandbox, path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => path);
  if (visible.some((each) => each === real || isInside(real, each))) return undefined;
  return hidden.find((folder) => isInside(real, folder));
}

type Bubblewrap = Pick<Sandbox, "path" | "args">;

const probes = new Map<string, Promise<Bubblewrap | SandboxAbsence>>();

/**
 * Finds bubblewrap, and checks that it works here, once per process for each PATH and kind of sandbox. A failure is not kept: it may
 * be brief, or bubblewrap may be installed meanwhile.
 */
function findBubblewrap(searchPath: string, hidesProcesses: boolean): Promise<Bubblewrap | SandboxAbsence> {
  const key = `${hidesProcesses} ${searchPath}`;
  const known = probes.get(key);
  if (known !== undefined) return known;
  const probe = probeBubblewrap(searchPath, hidesProcesses);
  probes.set(key, probe);
  void probe.then((found) => {
    if ("reason" in found) probes.delete(key);
  });
  return probe;
}

async function probeBubblewrap(searchPath: string, hidesProcesses: boolean): Promise<Bubblewrap | SandboxAbsence> {
  if (process.platform !== "linux") {
    return { reason: `The sandbox is available only on Linux, and this is ${process.platform}.`, isFixable: false };
  }
  const found = await resolveCommand("bwrap", "/", searchPath);
  if (found.kind !== "found") {
    const reason = "The sandbox needs bubblewrap (bwrap), which is not in PATH. Install the package bubblewrap.";
    return { reason, isFixable: true };
  }
  const { path } = found;
  const isRoot = process.geteuid?.() === 0;
  const drops = isRoot ? droppedCapabilities.flatMap((name) => ["--cap-drop", name]) : [];
  const processes = hidesProcesses ? ownProcesses : isRoot ? [] : closedProcesses;
  const args = [...allFiles, ...processes, ...drops];
  const hide = ["--tmpfs", tmpdir(), "--remount-ro", tmpdir()];
  const problem = await failureOf(path, [...args, ...hide, "--", path, "--version"]);
  if (problem === undefined) return { path, args };
  return {
    reason: `bubblewrap (${path}) cannot be used here: ${problem}. It needs user namespaces, which many containers and some systems deny; docs/vault.md says how to allow them.`,
    isFixable: true,
  };
}

function failureOf(path: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(path, args, { env: {}, cwd: "/", timeout: probeMs, killSignal: "SIGKILL" }, (error, _, stderr) => {
      if (error === null) return resolve(undefined);
      const [line = ""] = stderr.trim().split("\n");
      resolve(printableText(line || (error.killed ? "it did not end" : `it failed (${error.code})`), 200));
    });
  });
}

interface HiddenPath {
  readonly path: string;
  readonly isFolder: boolean;
}

/** For each path as written, descriptors of what it pointed to at earlier starts, by device and inode. */
const seenBefore = new Map<string, Map<string, number>>();
/** O_PATH: opens the location without its content. */
const pathOnly = 0o10000000;

/**
 * The path of a file or folder, and the current paths of those that had its name at earlier starts: a program cannot move a folder that
 * is hidden from it, but it can move a parent folder, exit, and read the moved folder when it is started again.
 */
async function resolveHidden(written: string): Promise<HiddenPath[]> {
  const seen = seenBefore.get(written) ?? new Map<string, number>();
  seenBefore.set(written, seen);
  const before = (await Promise.all([...seen].map(([id, descriptor]) => currentPathOf(id, descriptor, seen)))).flat();
  try {
    // Otherwise the program could create it with content that we read later.
    if (written.endsWith("/")) await createFolder(resolve(written));
    const path = await realpath(written);
    const { id, isFolder } = await identify(path);
    if (!seen.has(id)) seen.set(id, openSync(path, pathOnly));
    return [{ path, isFolder }, ...before];
  } catch {
    // A path that does not exist and cannot be created need not be hidden.
    return before;
  }
}

async function currentPathOf(id: string, descriptor: number, seen: Map<string, number>): Promise<HiddenPath[]> {
  try {
    const path = await readlink(`/proc/self/fd/${descriptor}`);
    const current = await identify(path);
    if (current.id === id) return [{ path, isFolder: current.isFolder }];
  } catch {
    // It was deleted.
  }
  if (seen.delete(id)) closeSync(descriptor);
  return [];
}

async function identify(path: string): Promise<{ readonly id: string; readonly isFolder: boolean }> {
  const stats = await stat(path, { bigint: true });
  return { id: `${stats.dev}:${stats.ino}`, isFolder: stats.isDirectory() };
}

/** Creates a folder, even behind dangling links. */
async function createFolder(path: string, stepsLeft = 8): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (stepsLeft === 0 || dirname(path) === path) throw error;
    const target = await readlink(path).catch(() => undefined);
    await createFolder(target === undefined ? dirname(path) : resolve(dirname(path), target), stepsLeft - 1);
    await mkdir(path, { recursive: true, mode: 0o700 });
  }
}

function isInside(path: string, folder: string): boolean {
  const inner = relative(folder, path);
  return inner !== "" && inner !== ".." && !inner.startsWith("../") && !isAbsolute(inner);
}
