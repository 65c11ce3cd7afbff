import { existsSync, type FSWatcher, readdirSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";

const settleMs = 200;

/**
 * Calls `onChange` after one of the files has changed, even if an editor replaced it. Their folders are watched, because a
 * replaced file is a new inode. Returns a function that stops watching.
 */
export function watchFiles(files: readonly string[], onChange: () => void): () => void {
  const folders = new Map<string, Set<string>>();
  for (const file of files) {
    const folder = dirname(file);
    folders.set(folder, (folders.get(folder) ?? new Set()).add(basename(file)));
  }
  return watchFolders(folders, onChange);
}

/** Calls `onChange` after a file in the folder was added, changed or removed. Returns a function that stops watching. */
export function watchFolder(folder: string, onChange: () => void): () => void {
  return watchFolders(new Map([[folder, undefined]]), onChange);
}

/** Watches the named files of each folder, or all of them. */
function watchFolders(folders: ReadonlyMap<string, Set<string> | undefined>, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onEvent = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onChange, settleMs);
  };
  const stops = [...folders].map(([folder, names]) => watchOneFolder(folder, names, onEvent));
  return () => {
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
}

/**
 * Watches a folder. While it does not exist, as the folder of the approvals before the first one, the closest existing folder above it is
 * watched. Returns a function that stops watching.
 */
function watchOneFolder(folder: string, names: ReadonlySet<string> | undefined, onEvent: () => void): () => void {
  let watcher: FSWatcher | undefined;
  /** Watches a folder, or the one above it. `missing` is the part of the path that does not exist in it. */
  const follow = (at: string, missing?: string): void => {
    try {
      watcher = watch(at, (_, name) => {
        if (missing === undefined) {
          if (name === null || names?.has(name) !== false) onEvent();
        } else if (existsSync(join(at, missing))) restart();
      });
    } catch (error) {
      // A folder that may not be read is not watched; its changes are found at the next start.
      const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
      if (isMissing && dirname(at) !== at) follow(dirname(at), basename(at));
      return;
    }
    const current = watcher;
    current.on("error", () => current.close());
    // It may have been created just before the watch began.
    if (missing !== undefined && existsSync(join(at, missing))) restart();
  };
  const restart = (): void => {
    watcher?.close();
    follow(folder);
    // Files may have been written to the new folder before its watch began.
    if (hasFiles(folder, names)) onEvent();
  };
  follow(folder);
  return () => watcher?.close();
}

/** Whether a folder has one of the named files, or any. */
function hasFiles(folder: string, names: ReadonlySet<string> | undefined): boolean {
  try {
    return readdirSync(folder).some((name) => names?.has(name) !== false);
  } catch {
    return false;
  }
}
