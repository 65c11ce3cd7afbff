import { type BigIntStats, readFileSync, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";

/** A file to read, now and whenever it has changed. */
export interface FollowedFile {
  readonly path: string;
  /** The error to throw if it cannot be read. */
  readonly unreadable: (cause: unknown) => Error;
}

/** What files held when they were read, in their order. */
export interface FilesRead {
  readonly contents: readonly Buffer[];
  /** Differs if a file was written to or replaced since; undefined if that is not known yet. */
  readonly version: string | undefined;
  /** Whether all of them can be read again: a pipe cannot. */
  readonly isFollowable: boolean;
}

/** How often files are checked, and how long they may be unusable before that is reported. */
export interface FollowPace {
  readonly recheckMs: number;
  readonly patienceMs: number;
}

export interface FollowOptions {
  readonly files: readonly FollowedFile[];
  /** What is in use when the following begins. */
  readonly first: FilesRead;
  /** Applies changed contents. Throws if they are unusable; the previous ones stay in use. */
  readonly take: (contents: readonly Buffer[]) => void;
  /** Called once for each reason for which the files have been unusable for a while, until they are usable again. */
  readonly onUnusable: (reason: Error) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Default: a change counts within a second, and 10 s are enough to write all files one by one. */
  readonly pace?: FollowPace | undefined;
}

const defaultPace: FollowPace = { recheckMs: 1000, patienceMs: 10_000 };

/** A younger file may be written again without a visible change of its times. */
const settledMs = 2000;

/** Reads files for the first time, at once. Throws what they say if one cannot be read. */
export function readFiles(files: readonly FollowedFile[]): FilesRead {
  // Times are read before contents, so that a write in between counts as a change.
  const stats = files.map((file) => attempt(file, () => statSync(file.path, { bigint: true })));
  const contents = files.map((file) => attempt(file, () => readFileSync(file.path)));
  return { contents, version: versionOf(stats), isFollowable: stats.every((one) => one.isFile()) };
}

/**
 * Reads files again, all of them together, whenever one was written to or replaced, or a link points to another. They are
 * looked at by their names: watchers miss changes behind links and on network file systems. Keeps no process alive.
 */
export function followFiles(options: FollowOptions): void {
  const { files, first, take, onUnusable, signal, pace = defaultPace } = options;
  let { contents: inUse, version } = first;
  let unusable: { readonly since: number; readonly reason: Error } | undefined;
  const reported = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  /** Throws if what is there now cannot be used. */
  const look = async (): Promise<void> => {
    const known = version;
    version = undefined;
    const stats = await Promise.all(files.map((file) => attemptLater(file, () => statFile(file.path))));
    const current = versionOf(stats);
    if (current === undefined || current !== known) {
      const contents = await Promise.all(files.map((file) => attemptLater(file, () => readFile(file.path))));
      if (signal.aborted) return;
      version = current;
      // After files were reported as unusable, it is also reported that they are usable again.
      if (reported.size === 0 && contents.every((one, index) => inUse[index]?.equals(one))) return;
      take(contents);
      inUse = contents;
    } else {
      version = known;
      if (unusable !== undefined) throw unusable.reason;
    }
  };

  const turn = async (): Promise<void> => {
    try {
      await look();
      unusable = undefined;
      reported.clear();
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      // Another process may be writing several files one by one: let it finish.
      if (unusable?.reason.message !== reason.message) unusable = { since: performance.now(), reason };
      const isLasting = performance.now() - unusable.since >= pace.patienceMs;
      if (isLasting && !reported.has(reason.message) && !signal.aborted) {
        reported.add(reason.message);
        onUnusable(reason);
      }
    }
    if (!signal.aborted) wait();
  };
  const wait = (): void => {
    timer = setTimeout(() => void turn(), pace.recheckMs).unref();
  };

  if (signal.aborted || files.length === 0 || !first.isFollowable) return;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  wait();
}

async function statFile(path: string): Promise<BigIntStats> {
  const stats = await stat(path, { bigint: true });
  // Opening a pipe would wait for its writer.
  if (!stats.isFile()) throw Object.assign(new Error("It is no regular file."), { code: "no regular file" });
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
