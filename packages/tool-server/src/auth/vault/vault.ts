import type { JsonObject } from "../../json-object.js";

/**
 * Which entry is meant. Every part takes part in the storage key, so entries that differ in one of them never meet; a part
 * that does not apply is the empty string, written out, so that none is forgotten.
 */
export interface VaultKey {
  /** The user's profile, as "development" or "production": profiles share nothing. */
  readonly profile: string;
  /** The server's name in the configuration. */
  readonly server: string;
  /** The server's url as it is used: an entry that is pointed elsewhere does not take its tokens along. */
  readonly resource: string;
  /** The authorization server's issuer, as it was published; empty for what is kept before it is known. */
  readonly issuer: string;
  /** What chooses the tenant, workspace or account; empty where there is one. */
  readonly tenant: string;
  /** What rests there, as "tokens", "client" or "issuer". */
  readonly item: string;
}

/** What rests under a key. */
export interface VaultEntry {
  readonly value: JsonObject;
  /** Names this very writing: a fresh random text each time it is put. */
  readonly revision: string;
}

/** For people: where tokens rest. Holds no secret. */
export interface VaultDescription {
  readonly kind: VaultKind;
  /** One line: where tokens rest, and how they are protected. */
  readonly summary: string;
  /** What the user has to know and may have to do; to be shown wherever a sign-in is. */
  readonly warning?: string;
  /** The folder, where there is one. */
  readonly path?: string;
}

/** Where a vault stores tokens. */
export type VaultKind = "keychain" | "file" | "memory";

/** What a vault holds, as far as it can be read. */
export interface VaultListing {
  readonly keys: readonly VaultKey[];
  /** One line for each entry that cannot be read, with its path and what to do. */
  readonly unreadable: readonly string[];
}

/** How long a lock is waited for. */
export interface LockOptions {
  /** Gives up waiting; the signal of a task that runs aborts too. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the lock. Default 30,000 ms; then rejects with VAULT_LOCKED. */
  readonly waitMs?: number | undefined;
}

/**
 * Keeps tokens, for one user, for all processes of that user that open it in the same place.
 *
 * Rejects with a `ToolServerError`: VAULT_UNREADABLE where what rests there cannot be read or written, which is never told as "empty";
 * VAULT_KEY_WRONG where it was encrypted with another key. A vault that was disposed of rejects with a TypeError.
 */
export interface Vault {
  readonly kind: VaultKind;
  /** Where tokens rest, and what to warn of; as it is known by now. */
  describe(): VaultDescription;
  /** What rests there; undefined where nothing does. */
  get(key: VaultKey): Promise<VaultEntry | undefined>;
  /**
   * Replaces what rests there, whole or not at all, and answers with its new revision once it is durable. An entry that cannot
   * be read is kept aside, not overwritten. Takes no part in `withLock`: who reads, decides and puts holds the lock.
   */
  put(key: VaultKey, value: JsonObject): Promise<VaultEntry>;
  /**
   * Makes sure that one `put` of up to 64 KiB will find space, then runs `task` with that `put`. Rejects before the task if there is no
   * space. Nobody else puts or deletes this entry meanwhile.
   */
  reserve<T>(key: VaultKey, task: (put: (value: JsonObject) => Promise<VaultEntry>) => Promise<T>): Promise<T>;
  /** Moves an entry out of the way, whatever is in it, and keeps it under another name; `describe` then warns of it. */
  setAside(key: VaultKey): Promise<void>;
  /** Deletes what rests there only if it still is the writing that `expectedRevision` names; tells whether it did. */
  deleteIf(key: VaultKey, expectedRevision: string): Promise<boolean>;
  /** Which entries there are, of all profiles. */
  list(): Promise<VaultListing>;
  /**
   * Runs `task` while nobody else, in this process or another, runs one under the same key. A dead holder's lock is taken over.
   * The lock is free again once the task settled, however it did. It cannot be taken twice by one who holds it.
   *
   * The task's signal aborts when the caller's does, or when the lock was lost to others.
   */
  withLock<T>(key: VaultKey, task: (signal: AbortSignal) => Promise<T>, options?: LockOptions): Promise<T>;
  /**
   * Calls `listener` when entries may have changed, by this process or another: within a second, and once for several changes.
   * It must not throw. Returns how to stop; `dispose` stops all. Keeps no process alive.
   */
  watch(listener: () => void): () => void;
  /** Gives no further lock, waits for the tasks that run and for what they write, then forgets the key material. Not for a task to call. */
  dispose(): Promise<void>;
}
