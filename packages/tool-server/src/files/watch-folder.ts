import { type FSWatcher, statSync, watch } from "node:fs";
import { stat } from "node:fs/promises";

/** One write changes several names. */
const settleMs = 20;
/** How often the folder is polled, with one `stat`. */
const pollMs = 500;

export interface FolderWatchOptions {
  /** Whether to report changes of this name. */
  isMeant(name: string): boolean;
  /** Whether to use the change events of the system. Default true. */
  readonly usesEvents?: boolean | undefined;
}

/**
 * Calls `onChange` after names in a folder have changed, by any process, within half a second. Network file systems and some
 * containers report no events, so the modification time of the folder is polled too. Keeps no process alive. Returns a function that stops.
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
    // The number of watches is limited by the system. Polling is enough.
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

/** Changes whenever a name in the folder is created, replaced or removed, or the folder itself is replaced. */
function markOf(facts: { readonly mtimeMs: number; readonly ino: number } | undefined): string {
  return facts === undefined ? "" : `${facts.ino} ${facts.mtimeMs}`;
}
