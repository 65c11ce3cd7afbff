import { createCipheriv, createDecipheriv, type KeyObject, randomBytes, randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ToolServerError } from "../../errors.js";
import { keepAside, removeDurably, reserveFile, writeDurably } from "../../files/durable-file.js";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../json-object.js";
import { keyWrong } from "./key-source.js";
import { asVaultFailure, readPrivateFile, vaultUnreadable, type Warn } from "./private-folder.js";
import type { VaultEntry, VaultKey, VaultListing } from "./vault.js";
import { entryToJson, parseVaultKey, storageIdOf } from "./vault-entry.js";
import { entryEnding, headerPath, type UnlockedHeader } from "./vault-header.js";

interface StoredEntry extends VaultEntry {
  readonly key: VaultKey;
}

/** The entries of one folder: a file each. A caller that writes holds the write lock of the entry. */
export interface EntryFolder {
  read(key: VaultKey): Promise<VaultEntry | undefined>;
  write(key: VaultKey, value: JsonObject): Promise<VaultEntry>;
  /** Reserves the space for one `write`; `release` frees the space that was not used. */
  reserve(key: VaultKey): Promise<{ write(value: JsonObject): Promise<VaultEntry>; release(): Promise<void> }>;
  setAside(key: VaultKey): Promise<void>;
  removeIf(key: VaultKey, expectedRevision: string): Promise<boolean>;
  list(): Promise<VaultListing>;
}

/** Several times the largest set of tokens seen so far, encrypted. */
const reservedBytes = 64 * 1024;

/** Opens the entries; `warn` is called for files that other users could read. */
export function openEntryFolder(folder: string, header: UnlockedHeader, warn: Warn): EntryFolder {
  const pathOf = (id: string): string => join(folder, `${id}${entryEnding}`);
  // The id is derived from every part of the key, so a file can only be decrypted under its own name, in its own vault.
  const boundTo = (id: string): string => JSON.stringify(["wirescope-vault-entry", 1, header.vaultId, id]);

  const load = async (id: string): Promise<StoredEntry | undefined> => {
    const path = pathOf(id);
    const sealed = await readPrivateFile(path, warn);
    if (sealed === undefined) return undefined;
    const opened = openSealedText(header.entryKey, boundTo(id), sealed);
    const problem = "problem" in opened ? opened.problem : undefined;
    const stored = "text" in opened ? parseStored(opened.text) : undefined;
    if (stored !== undefined) return stored;
    const advice =
      "It was not changed. Restore it from a backup, or sign in again, which keeps the damaged file under another name.";
    throw vaultUnreadable(path, problem ?? "is damaged", advice);
  };

  /** A folder that was removed or created again must not be treated as one without entries, nor be written to. */
  const ensureSameVault = async (): Promise<void> => {
    const path = headerPath(folder);
    const text = await readPrivateFile(path, warn);
    if (text === header.text) return;
    if (text === undefined) {
      throw vaultUnreadable(path, "disappeared while the vault was in use", "Restore the folder, or start again.");
    }
    throw keyWrong(`The vault ${folder} was replaced while it was in use.`, "Start again, with its new key.");
  };

  const write = async (
    key: VaultKey,
    value: JsonObject,
    writeFile: (path: string, text: string) => Promise<void>,
  ): Promise<VaultEntry> => {
    const id = storageIdOf(key);
    const path = pathOf(id);
    const entry: StoredEntry = { key, value: JSON.parse(entryToJson(value)), revision: randomUUID() };
    const sealed = sealText(header.entryKey, boundTo(id), JSON.stringify(entry));
    await ensureSameVault();
    try {
      if (!(await isReadable(() => load(id)))) {
        warn(`${path} could not be read, and was kept as ${await keepAside(path)}.`);
      }
      await writeFile(path, sealed);
    } catch (error) {
      throw asVaultFailure(path, "written", error);
    }
    return { value: entry.value, revision: entry.revision };
  };

  return {
    async read(key) {
      const stored = await load(storageIdOf(key));
      if (stored === undefined) await ensureSameVault();
      return stored && { value: stored.value, revision: stored.revision };
    },
    write: (key, value) => write(key, value, writeDurably),
    async reserve(key) {
      const path = pathOf(storageIdOf(key));
      try {
        const reserved = await reserveFile(path, reservedBytes);
        const fits = (text: string): boolean => Buffer.byteLength(text) <= reservedBytes;
        return {
          write: (value) =>
            write(key, value, (_, text) => (fits(text) ? reserved.write(text) : writeDurably(path, text))),
          release: reserved.release,
        };
      } catch (error) {
        throw asVaultFailure(path, "written", error);
      }
    },
    async setAside(key) {
      const path = pathOf(storageIdOf(key));
      try {
        const aside = await keepAside(path);
        await rm(path, { recursive: true, force: true });
        warn(`${path} could not be used, and was kept as ${aside}.`);
      } catch (error) {
        throw asVaultFailure(path, "written", error);
      }
    },
    async removeIf(key, expectedRevision) {
      const id = storageIdOf(key);
      const stored = await load(id);
      if (stored === undefined) await ensureSameVault();
      if (stored?.revision !== expectedRevision) return false;
      try {
        await removeDurably(pathOf(id));
      } catch (error) {
        throw asVaultFailure(pathOf(id), "written", error);
      }
      return true;
    },
    async list() {
      await ensureSameVault();
      const names = (await readdir(folder)).filter((name) => /^[0-9a-f]{64}\.token$/.test(name)).sort();
      const keys: VaultKey[] = [];
      const unreadable: string[] = [];
      for (const name of names) {
        try {
          const stored = await load(name.slice(0, -entryEnding.length));
          if (stored !== undefined) keys.push(stored.key);
        } catch (error) {
          if (!ToolServerError.is(error, "VAULT_UNREADABLE")) throw error;
          unreadable.push(error.message);
        }
      }
      return { keys, unreadable };
    },
  };
}

function parseStored(text: string): StoredEntry | undefined {
  const stored = parseJsonObject(text);
  const key = parseVaultKey(stored?.key);
  if (key === undefined || typeof stored?.revision !== "string" || !isJsonObject(stored.value)) return undefined;
  return { key, value: stored.value, revision: stored.revision };
}

async function isReadable(read: () => Promise<unknown>): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    if (ToolServerError.is(error, "VAULT_UNREADABLE")) return false;
    throw error;
  }
}

const format = "wirescope-sealed";
const version = 1;
const cipherName = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** The result of decrypting a string. */
type Opened =
  | { readonly text: string }
  /** Why it cannot be decrypted, as the end of a sentence that starts with "it". */
  | { readonly problem: string };

/**
 * Encrypts a string with AES-256-GCM and a random nonce. `boundTo` says what the text is and where it belongs: it cannot be
 * decrypted elsewhere.
 */
export function sealText(key: KeyObject, boundTo: string, text: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(boundTo, "utf8"));
  const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  const parts = { nonce, tag: cipher.getAuthTag(), data };
  const encoded = Object.entries(parts).map(([name, bytes]) => [name, bytes.toString("base64")]);
  return `${JSON.stringify({ format, version, ...Object.fromEntries(encoded) })}\n`;
}

/** Decrypts the result of `sealText` with the same key and `boundTo`. Does not throw. */
export function openSealedText(key: KeyObject, boundTo: string, sealed: string): Opened {
  const parts = parseJsonObject(sealed);
  if (parts?.format !== format) return { problem: "is damaged, or was written by another program" };
  if (parts.version !== version) return { problem: "was written by another version of Wirescope" };
  const { nonce, tag, data } = parts;
  if (typeof nonce !== "string" || typeof tag !== "string" || typeof data !== "string") {
    return { problem: "is damaged" };
  }
  try {
    const decipher = createDecipheriv(cipherName, key, Buffer.from(nonce, "base64"), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(boundTo, "utf8"));
    decipher.setAuthTag(Buffer.from(tag, "base64"));
    const text = Buffer.concat([decipher.update(Buffer.from(data, "base64")), decipher.final()]);
    return { text: text.toString("utf8") };
  } catch {
    return { problem: "was changed, was moved here, or was encrypted with another key" };
  }
}
