import { setMaxListeners } from "node:events";
import type { Clock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { type FileLockOptions, withFileLock } from "../../files/file-lock.js";
import { asVaultFailure } from "./private-folder.js";
import {
  describeVaultKey,
  type LockedEntry,
  storageIdOf,
  type Vault,
  type VaultEntry,
  type VaultKey,
  type VaultListing,
} from "./vault.js";

/** The entries of a vault. */
export interface EntryStore {
  read(key: VaultKey): Promise<VaultEntry | undefined>;
  list(parts?: Partial<VaultKey>): Promise<VaultListing>;
  /** An entry for one task under its lock. */
  lockedEntry(key: VaultKey, assertHeld: () => Promise<void>): StoredEntry;
}

export interface StoredEntry extends LockedEntry {
  /** Removes the mark of a renewal that the task started, and that came to nothing. */
  endRenewal(): Promise<void>;
}

interface VaultParts extends Pick<Vault, "kind" | "describe"> {
  readonly entries: EntryStore;
  readonly listeners: VaultListeners;
  readonly clock: Clock;
  /** The path of the lock of an entry, or its name. */
  lockOf(id: string): string;
  /** Whether the vault is used by this process only. */
  readonly inProcess?: boolean | undefined;
}

/** A vault over its entries: takes their locks, and waits for what runs when it is disposed of. */
export function createVault({ kind, describe, listeners, clock, lockOf, inProcess, ...parts }: VaultParts): Vault {
  let entries: EntryStore | undefined = parts.entries;
  const running = new Set<Promise<unknown>>();
  const closing = new AbortController();
  // Any number of callers may wait for a lock.
  setMaxListeners(0, closing.signal);

  const track = async <T>(operation: Promise<T>): Promise<T> => {
    running.add(operation);
    try {
      return await operation;
    } finally {
      running.delete(operation);
    }
  };
  const opened = (): EntryStore => {
    if (entries === undefined) throw disposed();
    return entries;
  };

  return {
    kind,
    describe,
    get: async (key) => track(opened().read(key)),
    list: async (wanted) => track(opened().list(wanted)),
    async withLock(key, task, options) {
      const path = lockOf(storageIdOf(key));
      const locked = withFileLock(
        path,
        async (signal, assertHeld) => {
          const entry = opened().lockedEntry(key, assertHeld);
          const result = await task(entry, signal);
          await entry.endRenewal();
          return result;
        },
        { ...options, ...vaultLock(path, describeVaultKey(key), clock), closing: closing.signal, inProcess },
      );
      return track(locked);
    },
    watch: listeners.add,
    async dispose() {
      listeners.clear();
      closing.abort(disposed());
      // A task that ends may have started another operation in the meantime.
      while (running.size > 0) await Promise.allSettled(running);
      // The only reference to the key.
      entries = undefined;
    },
  };
}

function disposed(): TypeError {
  return new TypeError("The vault was disposed of.");
}

/** The listeners for changes, and one source for all of them, which runs while there are any. */
export interface VaultListeners {
  /** Adds a listener; returns a function that removes it. */
  add(listener: () => void): () => void;
  notify(): void;
  clear(): void;
}

/** `start` begins to watch and returns a function that stops it. Default: only calls of `notify` report changes. */
export function createVaultListeners(start: (notify: () => void) => () => void = () => () => {}): VaultListeners {
  const listeners = new Set<() => void>();
  let stop: (() => void) | undefined;
  const notify = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const stopIfUnused = (): void => {
    if (listeners.size > 0) return;
    stop?.();
    stop = undefined;
  };
  return {
    add(listener) {
      // A new function, so that a listener that was added twice is removed one at a time.
      const own = (): void => listener();
      listeners.add(own);
      stop ??= start(notify);
      return () => {
        listeners.delete(own);
        stopIfUnused();
      };
    },
    notify,
    clear() {
      listeners.clear();
      stopIfUnused();
    },
  };
}

/** The options of the lock at `path`, which protects `subject`. */
export function vaultLock(path: string, subject: string, clock: Clock): FileLockOptions {
  const locked = (problem: string, advice: string): ToolServerError =>
    new ToolServerError("VAULT_LOCKED", { problem, advice });
  return {
    clock,
    tooLong: (holder, waitMs) => {
      const problem = `The ${subject} was in use by ${holder} for ${waitMs} ms (${path}).`;
      return locked(problem, "Try again, or stop that process if it hangs.");
    },
    lost: () => locked(`The lock ${path} was lost to another process.`, "Try again."),
    failed: (error) => asVaultFailure(path, "locked", error),
  };
}
