import { type FSWatcher, statSync, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Clock, steadyClock } from "../../clock.js";
import { withFileLock } from "../../files/file-lock.js";
import { removeLeftovers } from "../../files/private-file.js";
import { createVault, createVaultListeners, vaultLock } from "./create-vault.js";
import { openEntryFolder } from "./entry-folder.js";
import type { KeySource } from "./key-source.js";
import { openPrivateFolder } from "./private-folder.js";
import type { Vault } from "./vault.js";
import { createHeader, entryEnding, isVaultFolder, unlockHeader } from "./vault-header.js";

/** The folder and the key of an encrypted vault. */
export interface FileVaultOptions {
  /** The folder, which is created if it is missing. Store nothing else in it. */
  readonly directory: string;
  /** The source of its key; with `keyFromKeychain` the kind of the vault is "keychain". */
  readonly key: KeySource;
  /** For locks. Default: a monotonic clock. */
  readonly clock?: Clock;
  /** Whether to use the change events of the system; otherwise the folder is polled. Default true. */
  readonly usesEvents?: boolean;
}

const leftoverAgeMs = 60 * 60 * 1000;

/**
 * Opens the vault in a folder, or creates it: one file per entry, encrypted with AES-256-GCM. Rejects with VAULT_KEY_WRONG if
 * this is not the key of the vault, with VAULT_UNREADABLE if the folder cannot be used, and with KEYCHAIN_UNAVAILABLE if
 * the key is to be in a keychain that is unavailable; nothing is changed then.
 */
export async function openFileVault(options: FileVaultOptions): Promise<Vault> {
  const { key: source, clock = steadyClock } = options;
  const warnings = new Set<string>();
  const warn = (warning: string): void => void warnings.add(warning);
  await source.ready?.();
  const path = await openPrivateFolder(resolve(options.directory), warn, isVaultFolder);
  const lockFolder = await openPrivateFolder(join(path, "locks"), warn, () => true);
  const lockPath = (name: string): string => join(lockFolder, `${name}.lock`);
  const header =
    (await unlockHeader(path, source, warn)) ??
    // Of the processes that find no header, one creates it.
    (await withFileLock(
      lockPath("header"),
      async () => (await unlockHeader(path, source, warn)) ?? (await createHeader(path, source)),
      vaultLock(lockPath("header"), "vault", clock),
    ));
  for (const folder of [path, lockFolder]) await removeLeftovers(folder, leftoverAgeMs);

  const kind = source.from === "keychain" ? "keychain" : "file";
  return createVault({
    kind,
    describe() {
      const summary = `Tokens are stored in ${path}, encrypted with AES-256-GCM; the key ${source.summary}.`;
      const warning = [...warnings].join(" ");
      const { path: keyPath } = source;
      return { kind, summary, path, ...(keyPath && { keyPath }), ...(warning && { warning }) };
    },
    entries: openEntryFolder(path, header, warn),
    listeners: createVaultListeners((notify) =>
      watchFolder(path, { isRelevant: (name) => name.endsWith(entryEnding), usesEvents: options.usesEvents }, notify),
    ),
    clock,
    lockOf: lockPath,
  });
}

/** One write changes several names. */
const settleMs = 20;
/** How often the folder is polled, with one `stat`. */
const pollMs = 500;

interface FolderWatchOptions {
  /** Whether to report changes of this name. */
  isRelevant(name: string): boolean;
  /** Whether to use the change events of the system. Default true. */
  readonly usesEvents?: boolean | undefined;
}

/**
 * Calls `onChange` after names in a folder have changed, by any process, within half a second. Network file systems and some
 * containers report no events, so the modification time of the folder is polled too. Keeps no process alive. Returns a function that stops.
 */
function watchFolder(folder: string, options: FolderWatchOptions, onChange: () => void): () => void {
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
        if (name === null || options.isRelevant(name)) changed();
      });
      watcher.on("error", () => watcher?.close());
    }
  } catch {
    // The number of watches is limited by the system. Polling is enough.
  }

  let last = versionOf(statSync(folder, { throwIfNoEntry: false }));
  let isStopped = false;
  let polling: NodeJS.Timeout;
  const poll = async (): Promise<void> => {
    const version = versionOf(await stat(folder).catch(() => undefined));
    if (isStopped) return;
    if (version !== last) changed();
    last = version;
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
function versionOf(stats: { readonly mtimeMs: number; readonly ino: number } | undefined): string {
  return stats === undefined ? "" : `${stats.ino} ${stats.mtimeMs}`;
}
