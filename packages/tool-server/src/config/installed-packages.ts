import { readdir, realpath } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { readBoundedFile } from "../files/bounded-file.js";

/** A package in a folder that a runner such as npx runs instead of the published one. */
export interface InstalledPackage {
  /** The file that describes it. */
  readonly manifest: string;
  /** The names and files of its programs. */
  readonly programs: readonly Program[];
}

type Program = readonly [name: string, path: string];

/** The parts of a `package.json` that decide what a package runner runs. */
interface Manifest {
  readonly name?: unknown;
  readonly bin?: unknown;
  readonly directories?: { readonly bin?: unknown } | undefined;
  readonly workspaces?: unknown;
}

const maxFolders = 8_192;
const maxPrograms = 64;
const maxManifestBytes = 16 << 20;
/** How many folders are read at the same time, which bounds the open files. */
const batchSize = 16;

/**
 * Finds the packages with these names that belong to a project: the project itself, and what is in its `node_modules`. npm compares the names in
 * the manifests, not those of the folders, and includes workspaces and nested packages, so `isDeep` reads all manifests. `isNamed`: the project
 * itself is meant, regardless of its name. `isComplete` is false if there are too many to read.
 */
export async function findPackages(
  project: string,
  names: ReadonlySet<string>,
  isDeep: boolean,
  isNamed: boolean,
): Promise<{ readonly packages: readonly InstalledPackage[]; readonly isComplete: boolean }> {
  const packages: InstalledPackage[] = [];
  let isComplete = true;

  const add = async (manifest: string, folder: string, content: Manifest): Promise<void> => {
    const programs = await programsOf(folder, content);
    if (programs.length > maxPrograms) isComplete = false;
    packages.push({ manifest, programs: programs.slice(0, maxPrograms) });
  };
  const addFrom = async (folder: string, matches: (content: Manifest) => boolean): Promise<void> => {
    const path = join(folder, "package.json");
    const content = await readManifest(path);
    if (content !== undefined && matches(content)) await add(path, folder, content);
  };
  const hasListedName = ({ name }: Manifest): boolean => names.has(String(name));

  /** npm trusts its own list of installed packages if that is newer than the folders. */
  const addListed = async (): Promise<void> => {
    const path = join(project, "node_modules", ".package-lock.json");
    const list: Record<string, Manifest> = Object(Object(await readManifest(path)).packages);
    for (const [location, content] of Object.entries(list)) {
      const name = location.slice(location.lastIndexOf("node_modules/") + "node_modules/".length);
      if (names.has(name) || hasListedName(Object(content)))
        await add(path, join(project, location), { name, ...Object(content) });
    }
  };

  try {
    for (const name of names) await addFrom(join(project, "node_modules", name), () => true);
    await addFrom(project, (content) => isNamed || hasListedName(content) || declares(content, names));
    if (isDeep) {
      const scanned = await scan(project);
      if (!scanned.isComplete) isComplete = false;
      for (const { path, folder, content } of scanned.manifests)
        if (hasListedName(content)) await add(path, folder, content);
      await addListed();
    }
  } catch {
    // For example too many open files: a package that is missed now would run unnoticed.
    isComplete = false;
  }
  return { packages, isComplete };
}

interface Scan {
  readonly manifests: readonly { readonly path: string; readonly folder: string; readonly content: Manifest }[];
  readonly isComplete: boolean;
}

/** Scans in progress, by project: entries that are examined at the same time share one. */
const scans = new Map<string, Promise<Scan>>();

/** Reads the manifests of all packages in a project. */
function scan(project: string): Promise<Scan> {
  let running = scans.get(project);
  if (running === undefined) {
    running = readManifests(project).finally(() => scans.delete(project));
    scans.set(project, running);
  }
  return running;
}

async function readManifests(project: string): Promise<Scan> {
  const manifests: Scan["manifests"][number][] = [];
  const visited = new Set<string>();
  /** Reads the manifest in a folder, and returns the folders to visit next. */
  const visit = async (folder: string): Promise<string[]> => {
    const real = await ifReadable(realpath(folder));
    if (real === undefined || visited.has(real)) return [];
    visited.add(real);
    const path = join(folder, "package.json");
    const content = await readManifest(path);
    if (content !== undefined) manifests.push({ path, folder, content });
    return [...(await dependenciesIn(folder)), ...(await workspacesOf(folder, content ?? {}))];
  };
  for (const queue = [project]; queue.length > 0; ) {
    if (visited.size > maxFolders) return { manifests, isComplete: false };
    const batch = queue.splice(-batchSize);
    queue.push(...(await Promise.all(batch.map(visit))).flat());
  }
  return { manifests, isComplete: true };
}

// If a file is missing, closed to this user or malformed, the runner cannot use it either.
const unusable: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG"]);

async function ifReadable<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: NodeJS.ErrnoException) => {
    if (unusable.has(error.code) || error.code === "ERR_NOT_A_FILE") return undefined;
    throw error;
  });
}

async function readManifest(path: string): Promise<Manifest | undefined> {
  const content = await ifReadable(readBoundedFile(path, { maxBytes: maxManifestBytes }));
  try {
    return content && (Object(JSON.parse(content.toString("utf8").replace(/^\ufeff/, ""))) as Manifest);
  } catch {
    return undefined;
  }
}

function declares({ bin }: Manifest, names: ReadonlySet<string>): boolean {
  return Object.keys(typeof bin === "object" ? Object(bin) : {}).some((name) => names.has(basename(name)));
}

async function programsOf(folder: string, { name, bin, directories }: Manifest): Promise<Program[]> {
  if (typeof bin === "string") return [[basename(String(name)), resolve(folder, bin)]];
  const declared = Object.entries(Object(bin)).map(
    ([key, file]): Program => [basename(key), resolve(folder, String(file))],
  );
  if (typeof directories?.bin !== "string") return declared;
  const listed = resolve(folder, directories.bin);
  const files = (await ifReadable(readdir(listed))) ?? [];
  return [...declared, ...files.map((file): Program => [file, join(listed, file)])];
}

/** The folders of the packages in `node_modules`. */
async function dependenciesIn(folder: string): Promise<string[]> {
  const found = await foldersIn(join(folder, "node_modules"));
  const isScope = (path: string): boolean => basename(path).startsWith("@");
  const scoped: string[] = [];
  for (const scope of found.filter(isScope)) scoped.push(...(await foldersIn(scope)));
  return [...found.filter((path) => !isScope(path)), ...scoped];
}

/** The folders in a folder, and links, which may point to folders; like npm, without those that begin with a dot. */
async function foldersIn(path: string): Promise<string[]> {
  const found = (await ifReadable(readdir(path, { withFileTypes: true }))) ?? [];
  return found.filter((each) => !each.isFile() && !each.name.startsWith(".")).map(({ name }) => join(path, name));
}

/** The possible workspace folders of a project: all at the depth of a pattern, regardless of their names. */
async function workspacesOf(folder: string, { workspaces }: Manifest): Promise<string[]> {
  const list: unknown = Array.isArray(workspaces) ? workspaces : Object(workspaces).packages;
  const found: string[] = [];
  for (const pattern of Array.isArray(list) ? list.filter((each) => typeof each === "string") : []) {
    const steps = pattern.split("/").filter((step) => step !== "" && step !== ".");
    const fixed = steps.findIndex((step) => /[*?![\]{}()]/.test(step));
    const depth = /\*\*|[{(]/.test(pattern) ? Number.POSITIVE_INFINITY : steps.length - fixed;
    if (fixed === -1) found.push(join(folder, ...steps));
    else if (!pattern.startsWith("!")) {
      found.push(...(await foldersBelow(join(folder, ...steps.slice(0, fixed)), depth)));
    }
    if (found.length > maxFolders) throw new Error("too many workspaces");
  }
  return [...new Set(found)];
}

async function foldersBelow(path: string, depth: number): Promise<string[]> {
  const folders: string[] = [];
  const seen = new Set<string>();
  for (let level = [path], left = depth; left > 0 && folders.length <= maxFolders; left--) {
    const inner: string[] = [];
    for (const each of level) {
      // A link may point back to a parent folder.
      const real = await ifReadable(realpath(each));
      if (real === undefined || seen.has(real)) continue;
      seen.add(real);
      inner.push(...(await foldersIn(each)).filter((name) => basename(name) !== "node_modules"));
    }
    if (inner.length === 0) break;
    level = inner;
    folders.push(...level);
  }
  return folders;
}
