import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type RunningProcess, startProcess } from "../e2e/running-process.test.helper.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** The packages as npm publishes them, installed from their tarballs into an empty folder. */
export interface InstalledPackages {
  /** Contains node_modules and a package.json. */
  readonly folder: string;
  readonly home: string;
  /** Runs a command line of sh, with `npx`, `node` and the home of this installation. Rejects if it fails. */
  shell(command: string, node: string, env?: NodeJS.ProcessEnv): Promise<string>;
  /** Starts a program that runs until the test ends. */
  start(args: readonly string[], node: string, env?: NodeJS.ProcessEnv): RunningProcess;
  remove(): Promise<void>;
}

/** Packs the packages with these names, and installs the tarballs. */
export async function installPackages(...names: readonly string[]): Promise<InstalledPackages> {
  await run(process.execPath, ["scripts/setup.mjs"], { cwd: root });
  const base = await realpath(await mkdtemp(join(tmpdir(), "wirescope-packages-")));
  const [tarballs, folder, home] = [join(base, "tarballs"), join(base, "app"), join(base, "home")];
  await Promise.all([tarballs, folder, home].map((path) => mkdir(path)));
  const workspaces = names.flatMap((name) => ["--workspace", name]);
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", tarballs, ...workspaces], { cwd: root });
  // The cache of the developer, so that dependencies are not downloaded again; nothing else of their home is used.
  const { stdout: cache } = await run("npm", ["config", "get", "cache"]);
  const envWith = (node: string, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
    ...withoutNpm(process.env),
    HOME: home,
    XDG_RUNTIME_DIR: "",
    npm_config_cache: cache.trim(),
    npm_config_prefer_offline: "true",
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    ...env,
  });
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  const files = (await readdir(tarballs)).map((name) => join(tarballs, name));
  await run("npm", ["install", "--no-audit", "--no-fund", ...files], { cwd: folder, env: envWith(process.execPath) });
  return {
    folder,
    home,
    async shell(command, node, env) {
      const { stdout } = await run("sh", ["-c", command], { cwd: folder, env: envWith(node, env) });
      return stdout;
    },
    start: (args, node, env) => startProcess(node, args, { cwd: folder, env: envWith(node, env) }),
    remove: () => rm(base, { recursive: true, force: true }),
  };
}

/** The executables of these major versions of Node. Those that this process is not are installed from the npm registry. */
export async function installNode(
  majors: readonly number[],
): Promise<{ readonly nodes: ReadonlyMap<number, string>; remove(): Promise<void> }> {
  const own = Number.parseInt(process.versions.node, 10);
  const missing = majors.filter((major) => major !== own);
  const folder = await mkdtemp(join(tmpdir(), "wirescope-node-"));
  const platform = process.platform === "win32" ? "win" : process.platform;
  const packages = missing.map((major) => `node-${major}@npm:node-${platform}-${process.arch}@${major}`);
  try {
    await writeFile(join(folder, "package.json"), '{ "private": true }\n');
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", ...packages], {
      cwd: folder,
    });
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`Cannot install Node ${missing.join(" and ")} from the npm registry (${packages.join(" ")}).`, {
      cause,
    });
  }
  const path = (major: number): string => join(folder, "node_modules", `node-${major}`, "bin", "node");
  return {
    nodes: new Map(majors.map((major) => [major, major === own ? process.execPath : path(major)])),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Without the variables that npm sets for its scripts, which describe the repository and not the installation. */
function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isNpm = (name: string): boolean => /^npm_(package|lifecycle|command|execpath|node_execpath)/.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isNpm(name)));
}
