import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type RunningProcess, startProcess } from "../e2e/running-process.test.helper.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** An empty folder with its own home, and the packages as npm would publish them. */
export interface PackedPackages {
  readonly tarballs: readonly string[];
  readonly folder: string;
  readonly home: string;
  /** The variables of a user with that home, and with this Node first in the path. */
  envWith(node: string, env?: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

/** Packs the packages with these names. */
export async function packPackages(...names: readonly string[]): Promise<PackedPackages> {
  await run(process.execPath, ["scripts/run.mjs", "build"], { cwd: root });
  const base = await realpath(await mkdtemp(join(tmpdir(), "wirescope-packages-")));
  const [packed, folder, home] = [join(base, "packed"), join(base, "app"), join(base, "home")];
  await Promise.all([packed, folder, home].map((path) => mkdir(path)));
  const workspaces = names.flatMap((name) => ["--workspace", name]);
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", packed, ...workspaces], { cwd: root });
  // The developer's npm cache, so that dependencies are not downloaded again; nothing else of their home is used.
  const { stdout: cache } = await run("npm", ["config", "get", "cache"]);
  return {
    tarballs: (await readdir(packed)).map((name) => join(packed, name)),
    folder,
    home,
    envWith: (node, env = {}) => ({
      ...withoutNpm(process.env),
      HOME: home,
      XDG_RUNTIME_DIR: "",
      npm_config_cache: cache.trim(),
      npm_config_prefer_offline: "true",
      PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
      ...env,
    }),
    remove: () => rm(base, { recursive: true, force: true }),
  };
}

/** Packages that are installed from their tarballs. */
export interface InstalledPackages extends Pick<PackedPackages, "folder" | "remove"> {
  /** Runs a shell command in the folder. Rejects if it fails. */
  shell(command: string, node: string, env?: NodeJS.ProcessEnv): Promise<string>;
  /** Starts a program that runs until the test ends. */
  start(args: readonly string[], node: string, env?: NodeJS.ProcessEnv): RunningProcess;
}

/** Packs the packages with these names, and installs the tarballs. */
export async function installPackages(...names: readonly string[]): Promise<InstalledPackages> {
  const { tarballs, folder, envWith, remove } = await packPackages(...names);
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  const env = envWith(process.execPath);
  await run("npm", ["install", "--no-audit", "--no-fund", ...tarballs], { cwd: folder, env });
  return {
    folder,
    async shell(command, node, more) {
      const { stdout } = await run("sh", ["-c", command], { cwd: folder, env: envWith(node, more) });
      return stdout;
    },
    start: (args, node, more) => startProcess(node, args, { cwd: folder, env: envWith(node, more) }),
    remove,
  };
}

/** The executables of these major versions of Node; others than the running one are installed from the npm registry. */
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
