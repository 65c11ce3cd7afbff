// Installs the dependencies and builds the packages before a command of this checkout runs.
//
// Runs before anything is installed, so it uses only Node. All output goes to standard error: standard output is for the
// command that follows.

import { spawn } from "node:child_process";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The directory of the checkout. */
export const root = fileURLToPath(new URL("..", import.meta.url));

const lockFile = join(root, ".setup.lock");

/** A failure that is reported by its message only, without a stack. */
export class SetupError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Installs exactly what package-lock.json says, unless node_modules is up to date. */
export async function ensureInstalled() {
  if (isInstalled()) return;
  await withLock(async () => {
    if (isInstalled()) return;
    say("Installing dependencies (npm ci). This runs once, and again when package-lock.json changes.");
    const code = await run("npm", ["ci", "--loglevel=error", "--no-progress"]);
    if (code !== 0) {
      throw new SetupError(
        [
          `npm ci failed with code ${code}; see its output above.`,
          "Check that the npm registry is reachable (npm ping --loglevel=notice). If package.json and",
          "package-lock.json disagree, run npm install --loglevel=notice and review the change before you keep it.",
        ].join("\n"),
      );
    }
  });
}

/** Builds all packages that have changed. */
export async function ensureBuilt() {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  await withLock(async () => {
    const code = await run(process.execPath, [compiler, "-b"]);
    if (code !== 0) {
      throw new SetupError(
        `The build (tsc -b) failed with code ${code}; see the errors above. Fix them, then run the command again.`,
      );
    }
    const { ensureBundled } = await import("./bundle.mjs");
    await ensureBundled();
  });
}

/** Runs a command of this checkout: the setup, then `main`. A SetupError is reported without a stack. */
export function command(main, { needsBuild = true } = {}) {
  return explain(async () => {
    await ensureInstalled();
    if (needsBuild) await ensureBuilt();
    process.exitCode = await main(process.argv.slice(2));
  });
}

async function explain(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
    process.exitCode = error.exitCode;
  }
}

/** Runs a program in the checkout, with all output on standard error unless `stdout` is "inherit"; returns its exit code. */
export function run(program, args, { stdout = 2 } = {}) {
  return new Promise((resolve, reject) => {
    // On Windows npm is a batch file, which only a shell can run.
    const shell = program === "npm" && process.platform === "win32";
    const child = spawn(program, args, { cwd: root, stdio: ["ignore", stdout, 2], shell });
    let interruptedBy = null;
    // Signals are forwarded to the child. At a terminal the child gets SIGINT from the terminal itself.
    const onSignal = (signal) => {
      interruptedBy = signal;
      if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
    const done = () => process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
    child.on("error", (error) => {
      done();
      reject(new SetupError(`Cannot start ${program}: ${error.message}. Check that it is installed and on the PATH.`));
    });
    child.on("close", (code, killedBy) => {
      done();
      const signal = interruptedBy ?? killedBy;
      if (signal === null) resolve(code);
      else reject(new SetupError(`${program} was ended by ${signal}.`, 128 + constants.signals[signal]));
    });
  });
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Whether node_modules matches package-lock.json, by the record that npm writes there when it is done. */
function isInstalled() {
  const installed = readPackages("node_modules", ".package-lock.json");
  if (installed === undefined) return false;
  const { "": _workspace, ...wanted } = readPackages("package-lock.json") ?? {};
  const isAsWanted = ([path, { version, integrity, os, cpu }]) =>
    // A package of the checkout has neither a version nor an integrity in the record.
    path in wanted &&
    wanted[path].version === version &&
    wanted[path].integrity === integrity &&
    // A checkout that was moved to another machine has the wrong binaries.
    suits(os, process.platform) &&
    suits(cpu, process.arch);
  return (
    Object.entries(installed).every(isAsWanted) &&
    Object.entries(wanted).every(([path, { optional }]) => optional || path in installed)
  );
}

/** Whether a package's list of systems, in which "!" excludes one, contains this one. */
function suits(list = [], system) {
  const included = list.filter((name) => !name.startsWith("!"));
  return (
    !list.includes(`!${system}`) &&
    (included.length === 0 || included.some((name) => name === system || name === "any"))
  );
}

function readPackages(...path) {
  try {
    return JSON.parse(readFileSync(join(root, ...path), "utf8")).packages;
  } catch {
    // It is missing, or npm is writing it now: not done, in either case.
    return undefined;
  }
}

/** One setup at a time in a checkout: npm ci deletes node_modules, which others may be using. */
async function withLock(work) {
  let isReported = false;
  while (!tryLock()) {
    const holder = readLock();
    if (holder !== undefined && !isAlive(holder)) {
      breakLock(holder);
      continue;
    }
    if (!isReported) say(`Waiting for another setup of this checkout (process ${holder}), which holds ${lockFile}.`);
    isReported = true;
    await sleep(100);
  }
  const release = () => rmSync(lockFile, { force: true });
  process.on("exit", release);
  try {
    await work();
  } finally {
    process.off("exit", release);
    release();
  }
}

// Created as a link to a complete file, so that a lock is never read without its holder.
function tryLock() {
  const mine = `${lockFile}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, lockFile);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

function readLock() {
  try {
    return Number(readFileSync(lockFile, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// If several processes find a lock whose holder died, one of them moves it away. If that was the lock of a new holder, it
// is moved back.
function breakLock(deadHolder) {
  const aside = `${lockFile}.stale-${process.pid}`;
  try {
    renameSync(lockFile, aside);
    if (Number(readFileSync(aside, "utf8")) !== deadHolder) linkSync(aside, lockFile);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await explain(async () => {
    await ensureInstalled();
    if (process.argv[2] !== "install") await ensureBuilt();
  });
}
