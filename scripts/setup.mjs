// Installs the dependencies and builds the packages before a command of this checkout runs.
//
// Runs before anything is installed, so it uses only Node. All output goes to standard error: standard output is for the
// command that follows.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureBundled } from "./bundle.mjs";
import { ensurePageBuilt } from "./page.mjs";
import { root } from "./up-to-date.mjs";

export { root };

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
    const code = await reported("installing", run("npm", ["ci", "--loglevel=error", "--no-progress"]));
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

/** Installs packages that only one command needs, with these versions, into a folder of their own, once. */
export async function installTools(folder, versions, ...options) {
  const packages = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  const record = join(folder, "installed");
  if (existsSync(record) && readFileSync(record, "utf8") === packages.join("\n")) return;
  say(`Installing ${packages.join(", ")}.`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private": true}\n');
  const args = ["install", "--loglevel=error", "--no-progress", ...options, "--prefix", folder, ...packages];
  const code = await reported("installing", run("npm", args));
  if (code !== 0) throw new SetupError(`These packages cannot be installed: npm ended with code ${code}.`);
  writeFileSync(record, packages.join("\n"));
}

/** Builds the command and its page from their sources, unless they are up to date. */
export async function ensureCommandBuilt() {
  await withLock(async () => {
    await reported("bundling the command", ensureBundled());
    await reported("building the page", ensurePageBuilt());
  });
}

/** Compiles the packages that have changed, which checks their types. */
export async function ensureCompiled() {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  await withLock(async () => {
    const code = await reported("compiling the packages", run(process.execPath, [compiler, "-b"]));
    if (code !== 0) {
      throw new SetupError(
        `The build (tsc -b) failed with code ${code}; see the errors above. Fix them, then run the command again.`,
      );
    }
  });
}

/** Builds everything that is not up to date. */
export async function ensureBuilt() {
  await ensureCompiled();
  await ensureCommandBuilt();
}

/** The global setup of vitest. It exits on a failure: vitest would report that no test file was found. */
export async function setup() {
  try {
    await ensureBuilt();
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}

/** Says every ten seconds that a step of the setup still runs. */
async function reported(step, work) {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    say(`  still ${step}, ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }, 10_000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
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

/** Writes a line to standard error. */
export function say(text) {
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
  for (let known, holder = takeLock(); holder !== process.pid; holder = takeLock()) {
    if (holder !== undefined && holder !== known)
      say(`Waiting for another setup of this checkout (process ${holder}), which holds ${lockFile}.`);
    known = holder;
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

/** Takes the lock, and removes that of a process that has ended. Returns the holder; undefined if it has just changed. */
function takeLock() {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: "wx" });
    return process.pid;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  try {
    const holder = Number(readFileSync(lockFile, "utf8"));
    // While the file is still empty, this is 0, the group of this process, which exists.
    process.kill(holder, 0);
    return holder === 0 ? undefined : holder;
  } catch (error) {
    if (error.code === "ESRCH") rmSync(lockFile, { force: true });
    return undefined;
  }
}
