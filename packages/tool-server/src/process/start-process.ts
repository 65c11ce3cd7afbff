import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { constants, devNull } from "node:os";
import type { Duplex, Readable, Writable } from "node:stream";
import { type Clock, systemClock, waitAtMost } from "../clock.js";
import { endGroup, startWatchdog, type Watchdog } from "./process-group.js";
import { createLastLines, drain, type NotStarted, type ProcessExit } from "./process-outcome.js";
import { isFolder, isInterpreterMissing, resolveCommand } from "./resolve-command.js";
import { hiddenBy, type Sandbox } from "./sandbox.js";

/** A program to start, and how. */
export interface StartOptions {
  /** A path, or a name that is searched in the PATH of `env`. Never parsed by a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** The complete environment of the child, except WIRESCOPE_WATCHDOG, which is added to find it; see `childEnvironment`. */
  readonly env: Readonly<Record<string, string>>;
  /** The working directory. Default: that of this process. */
  readonly cwd?: string | undefined;
  /** Whether the child gets a pipe to read from; else it reads an empty file. Default true. */
  readonly hasStdin?: boolean;
  /** Hides files from the child, and hides or protects other processes. Default: it sees everything that this process sees. */
  readonly sandbox?: Sandbox | undefined;
  /** Redacts the standard error of the child. */
  readonly redact: (text: string) => string;
  /** Ends the child when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** How long a child may take to exit after its stdin closed, before TERM. Default 1000; 0 without stdin. */
  readonly exitTimeoutMs?: number;
  /** How long a group may take to end after TERM, before KILL. Default 2000. */
  readonly graceMs?: number;
  readonly clock?: Clock;
}

/** A running child process, the leader of its own process group. */
export interface RunningProcess {
  readonly kind: "running";
  readonly pid: number;
  /** The file that runs. */
  readonly path: string;
  /** Undefined if the child was started without a pipe. A failed write is reported to its callback, not as an error event. */
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
  /** Ends the group: closes stdin and waits, then TERM, then KILL. Further calls wait for the same end. */
  end(): Promise<ProcessExit>;
}

/**
 * Starts a child: without a shell, in its own process group and session, with only the given environment.
 *
 * When the child ends, processes that it left behind are ended as well. When this process ends, even by KILL, a watchdog ends the
 * group. A process that creates its own session, as a daemon does on purpose, escapes. So does, on systems other than Linux, a
 * child whose parent is killed during the start; then only its pipes close.
 */
export async function startProcess(options: StartOptions): Promise<RunningProcess | NotStarted> {
  const { command, args = [], env, cwd = process.cwd(), hasStdin = true, clock = systemClock, signal } = options;
  if (signal?.aborted) return { kind: "aborted" };
  // Node's own errors for these quote the value, which may be a secret.
  if (hasNul([command, cwd, ...args, ...Object.entries(env).flat()])) {
    return { kind: "not-started", path: "", reason: "an argument or a variable contains a NUL character" };
  }
  const resolved = await resolveCommand(command, cwd, env.PATH ?? "");
  if (resolved.kind !== "found") return resolved;
  if (signal?.aborted) return { kind: "aborted" };

  const { path } = resolved;
  const refusal = options.sandbox && (await refusalIn(options.sandbox, path, cwd));
  if (refusal !== undefined) return refusal;
  if (signal?.aborted) return { kind: "aborted" };
  const shortage = descriptorShortage();
  if (shortage !== undefined) return { kind: "not-started", path, reason: shortage };
  const watchdog = startWatchdog();
  const sandboxed = options.sandbox && sandboxedCommand(options.sandbox, path, args, env, hasStdin);
  const stdin = hasStdin ? "pipe" : "ignore";
  let child: ChildProcess;
  try {
    child = spawn(sandboxed?.path ?? path, sandboxed?.args ?? args, {
      cwd,
      env: { ...(sandboxed === undefined ? env : {}), ...watchdog.mark },
      detached: true,
      shell: false,
      stdio: sandboxed?.stdio ?? [stdin, "pipe", "pipe"],
    });
    if (child.pid !== undefined) watchdog.guard(child.pid);
    if (sandboxed !== undefined) sendOptions(child, sandboxed.options);
    await once(child, "spawn");
  } catch (error) {
    watchdog.release();
    return refusalOf(error, path, cwd);
  }
  return supervise(child, path, watchdog, { ...options, hasStdin, clock });
}

/** More than the pipes of the watchdog and of a child in the sandbox need together. */
const descriptorsOfStart = 16;

/**
 * The code of the system if too many files are open to start a child. If a spawn fails for this reason, Node keeps the pipes that it
 * has already opened, so each attempt would make it worse.
 */
function descriptorShortage(): string | undefined {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsOfStart) opened.push(openSync(devNull, "r"));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "EMFILE" || code === "ENFILE" ? code : undefined;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function supervise(
  child: ChildProcess,
  path: string,
  watchdog: Watchdog,
  options: StartOptions & { readonly hasStdin: boolean; readonly clock: Clock },
): RunningProcess {
  const { clock, redact, signal, hasStdin, exitTimeoutMs = hasStdin ? 1000 : 0, graceMs = 2000 } = options;
  const { pid, stderr } = child;
  const [stdin, stdout] = options.sandbox === undefined ? [child.stdin, child.stdout] : pipesOf(child);
  if (pid === undefined || stdout === null || stderr === null) throw new TypeError("The child has no pid or pipes.");

  const lines = createLastLines();
  stderr.on("data", (chunk: Buffer) => lines.add(chunk));
  // A broken pipe either ends the child or results from its end.
  for (const emitter of [child, stdin, stdout, stderr]) emitter?.on("error", () => {});

  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, killer) => {
      // Bubblewrap reports a signal as a shell does.
      const signal = killer ?? (options.sandbox === undefined ? undefined : signalOf((code ?? 0) - 128));
      resolve(signal === undefined ? { kind: "exited", code: code ?? 0 } : { kind: "signalled", signal });
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
      if (exitTimeoutMs > 0) await waitAtMost(clock, exitTimeoutMs, exited);
      await endOfGroup();
      return ended;
    })();
    return ending;
  };
  const onAbort = (): void => void end();
  signal?.addEventListener("abort", onAbort, { once: true });
  // It may have aborted while the child was starting, before the listener was added.
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

/**
 * The bubblewrap command for a program. Bubblewrap's own environment is empty, and it gets the program's variables through a pipe: one
 * such as LD_PRELOAD would otherwise take effect outside of the sandbox, and other users can read arguments. It keeps its own standard
 * input and output open to the end, so the program gets separate pipes: otherwise it would go unnoticed that it closed them.
 */
function sandboxedCommand(
  sandbox: Sandbox,
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  hasStdin: boolean,
): {
  readonly path: string;
  readonly args: readonly string[];
  readonly options: readonly string[];
  readonly stdio: ("ignore" | "pipe")[];
} {
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  // Without a pipe to read from, it reads what bubblewrap does: an empty file.
  const script = `exec "$@" >&4 4>&-${hasStdin ? " <&5 5<&-" : ""}`;
  return {
    path: sandbox.path,
    args: ["--args", "3", "--", "/bin/sh", "-c", script, "sh", path, ...args],
    options: [...sandbox.args, ...variables],
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", ...(hasStdin ? (["pipe"] as const) : [])],
  };
}

/** Standard input and output of a program in the sandbox. */
function pipesOf({ stdio }: ChildProcess): [Writable | null, Readable | null] {
  const [, , , , output, input] = stdio as readonly (Duplex | null | undefined)[];
  return [input ?? null, output ?? null];
}

function sendOptions(child: ChildProcess, options: readonly string[]): void {
  const pipe = child.stdio[3];
  if (pipe === null || pipe === undefined || !("end" in pipe)) return;
  // A child that does not read it exits, which is reported.
  pipe.on("error", () => {});
  pipe.end(options.map((option) => `${option}\0`).join(""));
}

/** Failures that bubblewrap would report only on standard error. */
async function refusalIn(sandbox: Sandbox, path: string, cwd: string): Promise<NotStarted | undefined> {
  const folder = await hiddenBy(sandbox, path);
  if (folder !== undefined) return { kind: "hidden", path, folder };
  if (!(await isFolder(cwd))) return { kind: "not-found", what: "directory", path: cwd, searched: [] };
  return (await isInterpreterMissing(path))
    ? { kind: "not-found", what: "interpreter", path, searched: [] }
    : undefined;
}

function signalOf(number: number): NodeJS.Signals | undefined {
  return (Object.keys(constants.signals) as NodeJS.Signals[]).find((name) => constants.signals[name] === number);
}

/** Converts a system error. The error itself is not passed on, because it contains the arguments. */
async function refusalOf(error: unknown, path: string, cwd: string): Promise<NotStarted> {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
  if (!(await isFolder(cwd))) return { kind: "not-found", what: "directory", path: cwd, searched: [] };
  // The file itself was found a moment ago.
  if (code === "ENOENT") return { kind: "not-found", what: "interpreter", path, searched: [] };
  if (code === "EACCES" || code === "EPERM") return { kind: "not-executable", path, isDirectory: false };
  return { kind: "not-started", path, reason: code };
}

function hasNul(texts: readonly string[]): boolean {
  return texts.some((text) => text.includes("\0"));
}
