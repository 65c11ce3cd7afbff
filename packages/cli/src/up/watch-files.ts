import { type BigIntStats, statSync } from "node:fs";
import { stat } from "node:fs/promises";

const pollMs = 500;
const settleMs = 200;

/**
 * Calls `onChange` after one of the files was added, changed, replaced or removed, or after a file was added to or removed from one of
 * them that is a folder. Returns a function that stops watching.
 *
 * Polls instead of using events of the file system: these miss a changed symbolic link in the path, as Kubernetes replaces mounted
 * files, a folder that is removed and created again, and changes by another machine.
 *
 * @param before The states of the files before they were read, so that a change in the meantime is not missed.
 */
export function watchFiles(
  files: readonly string[],
  onChange: () => void,
  before: readonly FileState[] = statesOf(files),
): () => void {
  let known = before;
  let isChanging = false;
  let isStopped = false;
  let timer: NodeJS.Timeout;
  const poll = async (): Promise<void> => {
    const states = await Promise.all(files.map(async (file, index) => (await stateOf(file)) ?? known[index]));
    if (isStopped) return;
    const wasChanging = isChanging;
    isChanging = states.some((state, index) => state !== known[index]);
    known = states;
    if (wasChanging && !isChanging) onChange();
    schedule();
  };
  const schedule = (): void => {
    timer = setTimeout(() => void poll(), isChanging ? settleMs : pollMs).unref();
  };
  schedule();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** Differs after each change of a file; undefined if it is not known, as without permission. Follows symbolic links. */
type FileState = string | undefined;

/** The states of the files now. */
export function statesOf(files: readonly string[]): readonly FileState[] {
  return files.map((file) => {
    try {
      return describe(statSync(file, { bigint: true }));
    } catch (error) {
      return absenceOf(error);
    }
  });
}

async function stateOf(file: string): Promise<FileState> {
  try {
    return describe(await stat(file, { bigint: true }));
  } catch (error) {
    return absenceOf(error);
  }
}

function describe({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

function absenceOf(error: unknown): FileState {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR" ? "missing" : undefined;
}
