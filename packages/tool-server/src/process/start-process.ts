import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { type Clock, systemClock, waitAtMost } from "./clock.js";
import { drain } from "./drain.js";
import { createLastLines } from "./last-lines.js";
import { endGroup } from "./process-group.js";
import type { NotStarted, ProcessExit } from "./process-outcome.js";
import { resolveCommand } from "./resolve-command.js";
import { startWatchdog, type Watchdog } from "./watchdog.js";

/** What to run, and how. */
export interface StartOptions {
  /** A path, or a name that is looked for in the PATH of `env`. Never read by a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the child, but for WIRESCOPE_WATCHDOG, by which it is found; see `childEnvironment`. */
  readonly env: Readonly<Record<string, string>>;
  /** The working directory. Default: that of this process. */
  readonly cwd?: string | undefined;
  /** Whether the child gets a pipe to read from; else it reads an empty file. Default true. */
  readonly hasStdin?: boolean;
  /** Takes secrets out of what the child writes to its standard error. */
  readonly redact: (text: string) => string;
  /** Ends the child when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** How long a child whose stdin closed may take to end by itself, before TERM. Default 1000; 0 without stdin. */
  readonly patienceMs?: number;
  /** How long a group may take to end after TERM, before KILL. Default 2000. */
  readonly graceMs?: number;
  readonly clock?: Clock;
}

/** A child that runs, as the leader of a process group of its own. */
export interface RunningProcess {
  readonly kind: "running";
  readonly pid: number;
  /** The file that runs. */
  readonly path: string;
  /** Undefined where the child was started without. A write that fails tells its callback; there is no error to listen for. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  /** The last lines of standard error: redacted, escaped and bounded. */
  stderr(): readonly string[];
  /** Whether the group ends even when this process is killed. */
  readonly isGuarded: boolean;
  /** How the child itself ended, as soon as it did. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** The same, once its whole group has ended too. Never rejects. */
  readonly ended: Promise<ProcessExit>;
  /** Ends the group: closes stdin and has patience, then TERM, then KILL. More calls wait for the same end. */
  end(): Promise<ProcessExit>;
}

/**
 * Starts a child: without a shell, in a process group and session of its own, with the given environment and no other.
 *
 * When the child ends, those whom it started and left behind are ended as well. When this process ends, even by KILL, a
 * watchdog ends the group. A process that makes a session of its own, as a daemon does on purpose, escapes. So does, on
 * other systems than Linux, a child whose parent is killed in the moment of its start; then only its pipes close.
 */
export async function startProcess(options: StartOptions): Promise<RunningProcess | NotStarted> {
  const { command, args = [], env, cwd = process.cwd(), hasStdin = true, clock = systemClock, signal } = options;
  if (signal?.aborted) return { kind: "aborted" };
  // Node's own errors for these quote the value, which may be a secret.
  if (hasNul([command, cwd, ...args, ...Object.entries(env).flat()])) {
    return { kind: "not-started", path: "", reason: "an argument or a variable holds a NUL character" };
  }
  const resolved = await resolveCommand(command, cwd, env.PATH ?? "");
  if (resolved.kind !== "found") return resolved;
  if (signal?.aborted) return { kind: "aborted" };

  const { path } = resolved;
  const watchdog = startWatchdog();
  let child: ChildProcess;
  try {
    child = spawn(path, args, {
      cwd,
      env: { ...env, ...watchdog.mark },
      detached: true,
      shell: false,
      stdio: [hasStdin ? "pipe" : "ignore", "pipe", "pipe"],
    });
    if (child.pid !== undefined) watchdog.guard(child.pid);
    await once(child, "spawn");
  } catch (error) {
    watchdog.release();
    return refusalOf(error, path, cwd);
  }
  return supervise(child, path, watchdog, { ...options, hasStdin, clock });
}

function supervise(
  child: ChildProcess,
  path: string,
  watchdog: Watchdog,
  options: StartOptions & { readonly hasStdin: boolean; readonly clock: Clock },
): RunningProcess {
  const { clock, redact, signal, hasStdin, patienceMs = hasStdin ? 1000 : 0, graceMs = 2000 } = options;
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new TypeError("The child has no pid or pipes.");

  const lines = createLastLines();
  stderr.on("data", (chunk: Buffer) => lines.add(chunk));
  // What breaks a pipe, or an attempt to reach the child, also ends the child or was its end.
  for (const emitter of [child, stdin, stdout, stderr]) emitter?.on("error", () => {});

  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, killer) => {
      resolve(killer === null ? { kind: "exited", code: code ?? 0 } : { kind: "signalled", signal: killer });
    });
  });
  let groupEnd: Promise<void> | undefined;
  const endOfGroup = (): Promise<void> => {
    groupEnd ??= endGroup(pid, graceMs, clock);
    return groupEnd;
  };

  const ended = exited.then(async (exit) => {
    signal?.removeEventListener("abort", onAbort);
    await endOfGroup();
    watchdog.release();
    stdin?.destroy();
    await drain(stderr);
    return exit;
  });

  let ending: Promise<ProcessExit> | undefined;
  const end = (): Promise<ProcessExit> => {
    ending ??= (async () => {
      stdin?.end();
      if (patienceMs > 0) await waitAtMost(clock, patienceMs, exited);
      await endOfGroup();
      return ended;
    })();
    return ending;
  };
  const onAbort = (): void => void end();
  signal?.addEventListener("abort", onAbort, { once: true });
  // It may have aborted while the child was starting, before anybody listened.
  if (signal?.aborted) onAbort();

  return {
    kind: "running",
    pid,
    path,
    stdin: stdin ?? undefined,
    stdout,
    exited,
    ended,
    end,
    stderr: () => lines.read(redact),
    get isGuarded() {
      return watchdog.isAlive;
    },
  };
}

/** What the system's refusal means. The error itself is not passed on: it carries the arguments. */
async function refusalOf(error: unknown, path: string, cwd: string): Promise<NotStarted> {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
  const isCwdThere = await stat(cwd).then(
    (facts) => facts.isDirectory(),
    () => false,
  );
  if (!isCwdThere) return { kind: "not-found", what: "directory", path: cwd, searched: [] };
  // The file itself was found a moment ago.
  if (code === "ENOENT") return { kind: "not-found", what: "interpreter", path, searched: [] };
  if (code === "EACCES" || code === "EPERM") return { kind: "not-executable", path, isDirectory: false };
  return { kind: "not-started", path, reason: code };
}

function hasNul(texts: readonly string[]): boolean {
  return texts.some((text) => text.includes("\0"));
}
