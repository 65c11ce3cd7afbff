import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../json-object.js";
import { printableText } from "../../printable-text.js";

/**
 * Identifies an entry. The storage id depends on every part, so entries that differ in one of them are separate. A part
 * that does not apply is the empty string, and must be given.
 */
export interface VaultKey {
  /** The person whose entry it is, in a process that serves several; empty if it serves one. */
  readonly owner: string;
  /** The user's profile, such as "development" or "production": profiles share nothing. */
  readonly profile: string;
  /** The server's name in the configuration. */
  readonly server: string;
  /** The url of the server as it is used: an entry with another url does not get these tokens. */
  readonly resource: string;
  /** The issuer of the authorization server, as published; empty for items that exist before it is known. */
  readonly issuer: string;
  /** The tenant, workspace or account; empty if there is only one. */
  readonly tenant: string;
  /** What is stored, such as "tokens", "client" or "issuer". */
  readonly item: string;
}

/** A stored value. */
export interface VaultEntry {
  readonly value: JsonObject;
  /** Identifies this write: a new random string each time. */
  readonly revision: string;
}

/** Where tokens are stored, for people. Contains no secret. */
export interface VaultDescription {
  readonly kind: VaultKind;
  /** One line: where tokens are stored, and how they are protected. */
  readonly summary: string;
  /** What the user has to know or do; shown at every sign-in. */
  readonly warning?: string;
  /** The folder, if there is one. */
  readonly path?: string;
  /** The file with the key, if it is in one: programs that can read it can read the tokens. */
  readonly keyPath?: string;
}

/** The storage of a vault. */
export type VaultKind = "keychain" | "file" | "memory";

/** The readable and unreadable entries of a vault. */
export interface VaultListing {
  readonly keys: readonly VaultKey[];
  /** One line for each unreadable entry, with its path and what to do. */
  readonly unreadable: readonly string[];
}

/** Options for waiting for a lock. */
export interface LockOptions {
  /** Cancels waiting; also aborts the signal of a running task. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the lock. Default 30,000 ms; then rejects with VAULT_LOCKED. */
  readonly waitMs?: number | undefined;
}

/**
 * An entry whose lock is held: only its holder changes it. Every change first checks that the lock is still held, and rejects with
 * VAULT_LOCKED otherwise. It must not be used after its task.
 */
export interface LockedEntry {
  /** The entry; undefined if it does not exist. Publishes a value first that an earlier holder wrote, but had no time to publish. */
  read(): Promise<VaultEntry | undefined>;
  /**
   * Replaces the entry atomically, and resolves with its new revision once it is durable. An entry that cannot be read is kept
   * under another name, not overwritten.
   */
  write(value: JsonObject): Promise<VaultEntry>;
  /** Deletes the entry; resolves with whether it existed. */
  remove(): Promise<boolean>;
  /** Moves the entry away, readable or not, and keeps it under another name; `describe` then warns about it. */
  quarantine(): Promise<void>;
  /**
   * Marks that this revision is about to be used up for a new value, and reserves space for 64 KiB of it. Call it before each request that
   * may use it up. Resolves with whether an earlier renewal of this revision was interrupted, or may have been. A write or a deletion ends the
   * mark. So does a task that resolves without one, unless it found an earlier mark; one that rejects leaves it.
   */
  startRenewal(revision: string): Promise<boolean>;
}

/** A task under the lock of an entry. Its signal aborts when the caller's does, or when the lock was lost to another process. */
export type LockedTask<T> = (entry: LockedEntry, signal: AbortSignal) => Promise<T>;

/**
 * Stores tokens for one user, shared by all processes of that user that open the same vault.
 *
 * Rejects with a `ToolServerError`: VAULT_UNREADABLE if an entry cannot be read or written, which is never reported as "empty";
 * VAULT_KEY_WRONG if it was encrypted with another key. A disposed vault rejects with a TypeError.
 */
export interface Vault {
  readonly kind: VaultKind;
  /** Where tokens are stored, and the warnings so far. */
  describe(): VaultDescription;
  /** The entry; undefined if it does not exist. */
  get(key: VaultKey): Promise<VaultEntry | undefined>;
  /** The entries whose keys have these parts. Default: all. */
  list(parts?: Partial<VaultKey>): Promise<VaultListing>;
  /**
   * Runs `task` while no other task, in this process or another, runs under the same key. The lock of a dead process is taken over.
   * The lock is released once the task settles. It is not reentrant: pass the entry along. A task that takes a second lock follows the order
   * sign-in, tokens, client, issuer, identity, and tokens among themselves by the name of the server.
   */
  withLock<T>(key: VaultKey, task: LockedTask<T>, options?: LockOptions): Promise<T>;
  /**
   * Calls `listener` when entries may have changed, by this process or another: within a second, and once for several changes.
   * It must not throw. Returns a function that stops; `dispose` stops all. Keeps no process alive.
   */
  watch(listener: () => void): () => void;
  /** Grants no further lock, waits for running tasks and their writes, then wipes the key. A task must not call it. */
  dispose(): Promise<void>;
}

/** Replaces one entry under its lock. */
export function writeEntry(vault: Vault, key: VaultKey, value: JsonObject): Promise<VaultEntry> {
  return vault.withLock(key, (entry) => entry.write(value));
}

/** The parts of a key, in the order in which they are hashed; a new part changes the format. */
const parts = [
  "owner",
  "profile",
  "server",
  "resource",
  "issuer",
  "tenant",
  "item",
] as const satisfies (keyof VaultKey)[];

/**
 * The storage id of an entry: SHA-256 over all parts of its key, in hexadecimal. Throws a TypeError if a part is missing, because
 * two keys could then have the same id.
 */
export function storageIdOf(key: VaultKey): string {
  const values = parts.map((part) => {
    const value: unknown = key[part];
    if (typeof value !== "string")
      throw new TypeError(`The part "${part}" of a vault key is missing; use "" for none.`);
    return value;
  });
  // Version 1 had no owner.
  const versioned = key.owner === "" ? [1, ...values.slice(1)] : [2, ...values];
  // As JSON, the parts cannot run into each other, and a lone surrogate is not replaced.
  return createHash("sha256")
    .update(JSON.stringify(["wirescope-vault-key", ...versioned]))
    .digest("hex");
}

/** Parses a stored key, without other fields; undefined if it is not one. Old ones have no owner. */
export function parseVaultKey(value: unknown): VaultKey | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const given: Record<string, unknown> = { owner: "", ...value };
  if (!parts.every((part) => typeof given[part] === "string")) return undefined;
  return Object.fromEntries(parts.map((part) => [part, given[part]])) as unknown as VaultKey;
}

/** Whether a key has these parts. */
export function matchesKey(key: VaultKey, wanted: Partial<VaultKey>): boolean {
  return parts.every((part) => wanted[part] === undefined || wanted[part] === key[part]);
}

/** A key, for messages. */
export function describeVaultKey(key: VaultKey): string {
  const quoted = (text: string): string => `"${printableText(text, 80)}"`;
  return `${printableText(key.item, 40) || "entry"} of ${quoted(key.server)} in profile ${quoted(key.profile)}`;
}

/** Larger than any set of tokens; Wirescope did not write a file that exceeds it. */
export const maxEntryBytes: number = 1024 * 1024;

/** The JSON text of an entry. Throws a TypeError if the value is not an object, or too large. */
export function entryToJson(value: JsonObject): string {
  if (!isJsonObject(value)) throw new TypeError("A vault stores JSON objects only.");
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > maxEntryBytes / 2) {
    throw new TypeError(`A vault entry has at most ${maxEntryBytes / 2} bytes.`);
  }
  return text;
}
