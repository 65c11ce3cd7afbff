import { constants } from "node:fs";
import { access, chmod, mkdir, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import {
  readBoundedFile,
  removeLeftoversOf,
  systemClock,
  temporaryNameOf,
  withFileLock,
} from "@wirescope/tool-server/internal";

/** The content of a client's file when it was read. */
export interface ClientFile {
  /** The path with symbolic links resolved. */
  readonly path: string;
  /** Its text, with its byte-order mark; empty if the file does not exist yet. */
  readonly text: string;
  readonly exists: boolean;
}

/** The file of a client cannot be used. It was not changed. */
export class ClientFileError extends Error {
  override readonly name = "ClientFileError";
}

const maxBytes = 64 * 1_048_576;
const maxLinks = 40;
const leftoverAgeMs = 60_000;

/**
 * Reads the file of a client; a missing file is empty. Rejects with a ClientFileError. A file below `project` belongs to the
 * author of the project: there, a symbolic link in the path is refused, because it could point anywhere. `insteadOfLink` returns the
 * advice, given the resolved path.
 */
export async function readClientFile(
  named: string,
  project?: string,
  insteadOfLink: (file: string) => string = () => "use --scope user",
): Promise<ClientFile> {
  try {
    if (project !== undefined) await assertNoLinks(project, named, insteadOfLink);
    const path = await behindLinks(named);
    const bytes = await readIfExists(path);
    if (bytes === undefined) return { path, text: "", exists: false };
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { path, text, exists: true };
  } catch (error) {
    throw failure(named, "read", error);
  }
}

/**
 * Atomically replaces the file that was read and keeps its mode; `isPrivate` makes it readable for its owner only.
 * Resolves with false, and writes nothing, if the file has changed since it was read. Rejects with a ClientFileError.
 */
export async function replaceClientFile(was: ClientFile, text: string, isPrivate: boolean): Promise<boolean> {
  const { path } = was;
  try {
    await mkdir(dirname(path), { recursive: true });
    return await withFileLock(lockOf(path), () => replaceLocked(was, text, isPrivate), {
      clock: systemClock,
      waitMs: 10_000,
      tooLong: (holder) => new ClientFileError(`${path} is being written by ${holder}. Try again.`),
      lost: () => new ClientFileError(`${path} is being written by another process. Try again.`),
    });
  } catch (error) {
    throw failure(path, "written", error);
  }
}

/** Makes a file accessible to its owner only. Resolves with whether that changed its mode. */
export async function makePrivate(path: string): Promise<boolean> {
  if (process.platform === "win32") return false;
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0) return false;
  await chmod(path, mode & 0o700);
  return true;
}

function lockOf(path: string): string {
  return `${path}.wirescope-lock`;
}

async function replaceLocked(
  { path, text: old, exists }: ClientFile,
  text: string,
  isPrivate: boolean,
): Promise<boolean> {
  const present = await readIfExists(path);
  // Compared as bytes, so that a file that is no longer UTF-8 also differs.
  if ((present !== undefined) !== exists || (present !== undefined && !present.equals(Buffer.from(old)))) return false;
  // A read-only file is left alone, although a writable folder would let us replace it.
  if (exists) await access(path, constants.W_OK);
  const mode = exists ? (await stat(path)).mode & 0o777 : undefined;
  const wanted = isPrivate ? (mode ?? 0o600) & 0o700 : mode;
  const hidden = join(dirname(path), `.${basename(path)}`);
  // Best effort, and only of killed runs: these files live for milliseconds.
  for (const file of [hidden, lockOf(path)]) await removeLeftoversOf(file, leftoverAgeMs).catch(() => {});
  const temporary = temporaryNameOf(hidden);
  try {
    const file = await open(temporary, "wx", wanted ?? 0o666);
    try {
      // The umask must not affect the mode of an existing file.
      if (wanted !== undefined) await file.chmod(wanted);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return true;
}

/** The path with symbolic links resolved, even if the file does not exist yet. */
async function behindLinks(named: string): Promise<string> {
  let path = resolve(named);
  for (let count = 0; count < maxLinks; count += 1) {
    const target = await readlink(path).catch(() => undefined);
    if (target === undefined) break;
    path = resolve(dirname(path), target);
  }
  const folder = await realpath(dirname(path)).catch(() => dirname(path));
  return join(folder, basename(path));
}

/** Throws if the file, or a folder between the project and the file, is a symbolic link. */
async function assertNoLinks(project: string, named: string, insteadOfLink: (file: string) => string): Promise<void> {
  const steps = relative(project, named).split(sep);
  for (const [index] of steps.entries()) {
    const path = join(project, ...steps.slice(0, index + 1));
    const target = await readlink(path).catch(() => undefined);
    if (target === undefined) continue;
    throw new ClientFileError(
      `${path} is a symbolic link to ${target}, so the change would be made there. ` +
        `Nothing was written. Replace the link with a real file or folder, or ${insteadOfLink(await behindLinks(named))}.`,
    );
  }
}

async function readIfExists(path: string): Promise<Buffer | undefined> {
  try {
    return await readBoundedFile(path, { maxBytes });
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return undefined;
    if (code === "ERR_NOT_A_FILE") throw new ClientFileError(`${path} is not a regular file. It was not changed.`);
    if (code === "ERR_FILE_TOO_LARGE") throw new ClientFileError(`${path} exceeds the limit of ${maxBytes} bytes.`);
    throw error;
  }
}

function failure(path: string, verb: "read" | "written", error: unknown): unknown {
  if (error instanceof ClientFileError) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  const reason = code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is not UTF-8" : code;
  return new ClientFileError(`${path} cannot be ${verb} (${reason}). It was not changed.`, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
