import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";

/** A folder for the scripts of one test, deleted after the test. */
export interface ScriptFolder {
  readonly path: string;
  /** Writes an executable shell script and returns its path. */
  sh(body: string, name?: string): Promise<string>;
  /** Writes an executable script for the Node that runs the tests, and returns its path. */
  node(body: string, name?: string): Promise<string>;
}

export async function createScriptFolder(): Promise<ScriptFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "wirescope-scripts-")));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(path, name), text, { mode: 0o755 });
    return join(path, name);
  };
  return {
    path,
    sh: (body, name = "script.sh") => write(name, `#!/bin/sh\n${body}\n`),
    node: (body, name = "script.cjs") => write(name, `#!${process.execPath}\n${body}\n`),
  };
}

/** The words of a file, once it has this many. */
export async function wordsOf(path: string, count = 1): Promise<string[]> {
  return vi.waitFor(
    () => {
      const words = existsSync(path) ? readFileSync(path, "utf8").split(/\s+/).filter(Boolean) : [];
      if (words.length < count) throw new Error(`${path} has ${words.length} of ${count} words`);
      return words;
    },
    { timeout: 60_000, interval: 10 },
  );
}

/** Whether a process runs; one that is dead and not yet reaped does not. */
export function isRunning(pid: number | string): boolean {
  try {
    process.kill(Number(pid), 0);
  } catch {
    return false;
  }
  if (!existsSync("/proc/self/stat")) return true;
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Resolves when none of the processes runs. */
export async function allGone(pids: readonly (number | string)[]): Promise<void> {
  await vi.waitFor(
    () => {
      const alive = pids.filter(isRunning);
      if (alive.length > 0) throw new Error(`still running: ${alive.join(", ")}`);
    },
    { timeout: 60_000, interval: 10 },
  );
}
