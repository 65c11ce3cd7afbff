import { type FSWatcher, statSync, watch } from "node:fs";
import { stat } from "node:fs/promises";

/** Several names change for one writing. */
const settleMs = 20;
/** How often the folder is looked at; one `stat` each time. */
const pollMs = 500;

export interface FolderWatchOptions {
  /** Whether a name in the folder is of interest. */
  isMeant(name: string): boolean;
  /** Whether the system is asked to report changes. Default true. */
  readonly usesEvents?: boolean | undefined;
}

/**
 * Calls `onChange` after names in a folder have changed, by any process, within half a second. Network file systems and some
 * containers report no changes, so the folder's own time is compared as well. Keeps no process alive. Returns how to stop.
 */
export function watchFolder(folder: string, options: FolderWatchOptions, onChange: () => void): () => void {
  let settling: NodeJS.Timeout | undefined;
  const changed = (): void => {
    settling ??= setTimeout(() => {
      settling = undefined;
      onChange();
    }, settleMs).unref();
  };

  let watcher: FSWatcher | undefined;
  try {
    if (options.usesEvents !== false) {
      watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name === null || options.isMeant(name)) changed();
      });
      watcher.on("error", () => watcher?.close());
    }
  } catch {
    // The system allows a limited number of watches. The poll does the work.
  }

  let last = markOf(statSync(folder, { throwIfNoEntry: false }));
  let isStopped = false;
  let polling: NodeJS.Timeout;
  const poll = async (): Promise<void> => {
    const mark = markOf(await stat(folder).catch(() => undefined));
    if (isStopped) return;
    if (mark !== last) changed();
    last = mark;
    polling = setTimeout(poll, pollMs).unref();
  };
  polling = setTimeout(poll, pollMs).unref();

  return () => {
    isStopped = true;
    clearTimeout(settling);
    clearTimeout(polling);
    watcher?.close();
  };
}

/** Changes whenever a name in the folder is made, replaced or removed, or the folder is another one. */
function markOf(facts: { readonly mtimeMs: number; readonly ino: number } | undefined): string {
  return facts === undefined ? "" : `${facts.ino} ${facts.mtimeMs}`;
}
