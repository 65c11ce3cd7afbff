import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleProgram } from "../../../process/bundled-program.test.helper.js";

/** A test helper as a program: bundled into one file, outside of the sources. */
export interface WorkerProgram {
  /** `cwd` is the folder that it runs in. Default: that of this process. */
  start(args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string): Worker;
  /** Deletes it. */
  remove(): Promise<void>;
}

/** A process that prints a line for each step. */
export interface Worker {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<unknown>;
  /** Resolves when it has printed this. Rejects if it ends before. */
  said(line: string | RegExp): Promise<void>;
  send(line: string): void;
  /** Ends it as `kill -9` does. */
  kill(): Promise<unknown>;
}

export async function bundleWorker(): Promise<WorkerProgram> {
  const folder = await mkdtemp(join(tmpdir(), "wirescope-oauth-worker-"));
  // The folder of the bundle has no dependencies.
  await symlink(
    join(createRequire(import.meta.url).resolve("jose/package.json"), "../.."),
    join(folder, "node_modules"),
  );
  const program = await bundleProgram(new URL("refresh-worker.test.helper.ts", import.meta.url), folder);
  return {
    start: (args, env, cwd) => startWorker([program, ...args], env, cwd),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function startWorker(args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string): Worker {
  const child = spawn(process.execPath, args, { env, cwd, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let unfinished = "";
  child.stdout.on("data", (chunk) => {
    const parts = `${unfinished}${chunk}`.split("\n");
    unfinished = parts.pop() ?? "";
    lines.push(...parts);
    for (const look of waiting) look();
  });
  // One that is killed may not have read all its input.
  child.stdin.on("error", () => {});
  return {
    child,
    lines,
    ended,
    said: (wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (lines.some((line) => (typeof wanted === "string" ? line === wanted : wanted.test(line)))) resolve();
        };
        waiting.add(look);
        look();
        void ended.then(() => reject(new Error(`It ended after saying: ${lines.join(", ")}`)));
      }),
    send: (line) => void child.stdin.write(`${line}\n`),
    kill() {
      child.kill("SIGKILL");
      return ended;
    },
  };
}
