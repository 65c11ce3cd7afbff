import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";

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
  const watchers = [...folders].flatMap(([folder, names]): FSWatcher[] => {
    try {
      const watcher = watch(folder, (_, name) => {
        if (name !== null && names?.has(name) === false) return;
        clearTimeout(timer);
        timer = setTimeout(onChange, settleMs);
      });
      watcher.on("error", () => watcher.close());
      return [watcher];
    } catch {
      // A folder that does not exist yet cannot be watched; files that appear in it are found at the next start.
      return [];
    }
  });
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
