import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";

/** A file to read now and whenever it has changed. */
export interface FollowedFile {
  readonly path: string;
  /** The error to throw if it cannot be read. */
  readonly unreadable: (cause: unknown) => Error;
}

/** The contents of files, in order. */
export interface FilesRead {
  readonly contents: readonly Buffer[];
  /** Changes if a file is written to or replaced; undefined if a file changed too recently for that. */
  readonly version: string | undefined;
  /** Whether all files can be read again; false if one is a pipe. */
  readonly isFollowable: boolean;
}

/** How often files are checked, and after which time unusable files are reported. */
export interface FollowPace {
  readonly recheckMs: number;
  readonly reportAfterMs: number;
}

export interface FollowOptions {
  readonly files: readonly FollowedFile[];
  /** The contents in use at the start. */
  readonly first: FilesRead;
  /** Applies changed contents. Throws if they are unusable; the previous ones stay in use. */
  readonly apply: (contents: readonly Buffer[]) => void;
  /** Called once for each reason why the files have been unusable for a while, until they are usable again. */
  readonly onUnusable: (reason: Error) => void;
  /** Stops following. */
  readonly signal: AbortSignal;
  /** Default: a change is applied within a second, and 10 s are allowed for writing all files one by one. */
  readonly pace?: FollowPace | undefined;
}

const defaultPace: FollowPace = { recheckMs: 1000, reportAfterMs: 10_000 };

/** A file that changed less than this time ago may be written again without a visible change of its timestamps. */
const settledMs = 2000;

/** Reads files for the first time, synchronously. Throws the error of `unreadable` if one cannot be read. */
export function readFiles(files: readonly FollowedFile[]): FilesRead {
  // Timestamps are read before contents, so that a write in between counts as a change.
  const stats = files.map((file) => attempt(file, () => statSync(file.path, { bigint: true })));
  const contents = files.map((file) => attempt(file, () => readFileSync(file.path)));
  return { contents, version: versionOf(stats), isFollowable: stats.every((one) => one.isFile()) };
}

/**
 * Reads all files again whenever one was written to or replaced, or a link points to another. Polls them by path, because file
 * watchers miss changes behind links and on network file systems. Does not keep the process alive.
 */
export function followFiles(options: FollowOptions): void {
  const { files, first, apply, onUnusable, signal, pace = defaultPace } = options;
  let { contents: inUse, version } = first;
  let unusable: { readonly since: number; readonly reason: Error } | undefined;
  const reported = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  /** Throws if the current contents are unusable. */
  const check = async (): Promise<void> => {
    const known = version;
    version = undefined;
    const stats = await Promise.all(files.map((file) => attemptLater(file, () => statFile(file.path))));
    const current = versionOf(stats);
    if (current === undefined || current !== known) {
      const contents = await Promise.all(files.map((file) => attemptLater(file, () => readFile(file.path))));
      if (signal.aborted) return;
      version = current;
      // After files were reported as unusable, unchanged contents are applied too, which reports that they are usable again.
      if (reported.size === 0 && contents.every((one, index) => inUse[index]?.equals(one))) return;
      apply(contents);
      inUse = contents;
    } else {
      version = known;
      if (unusable !== undefined) throw unusable.reason;
    }
  };

  const poll = async (): Promise<void> => {
    try {
      await check();
      unusable = undefined;
      reported.clear();
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      // Another process may be writing several files one by one: let it finish.
      if (unusable?.reason.message !== reason.message) unusable = { since: performance.now(), reason };
      const isLasting = performance.now() - unusable.since >= pace.reportAfterMs;
      if (isLasting && !reported.has(reason.message) && !signal.aborted) {
        reported.add(reason.message);
        onUnusable(reason);
      }
    }
    if (!signal.aborted) schedule();
  };
  const schedule = (): void => {
    timer = setTimeout(() => void poll(), pace.recheckMs).unref();
  };

  if (signal.aborted || files.length === 0 || !first.isFollowable) return;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  schedule();
}

async function statFile(path: string): Promise<BigIntStats> {
  const stats = await stat(path, { bigint: true });
  // Opening a pipe would wait for its writer.
  if (!stats.isFile()) throw Object.assign(new Error("It is not a regular file."), { code: "not a regular file" });
  return stats;
}

function versionOf(stats: readonly BigIntStats[]): string | undefined {
  const now = Date.now();
  if (stats.some(({ ctimeMs }) => Math.abs(now - Number(ctimeMs)) < settledMs)) return undefined;
  return stats.map(({ dev, ino, size, mtimeNs, ctimeNs }) => `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`).join("\n");
}

function attempt<T>(file: FollowedFile, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw file.unreadable(cause);
  }
}

async function attemptLater<T>(file: FollowedFile, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw file.unreadable(cause);
  }
}
