import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ToolServerError } from "../../errors.js";
import { publishPrivateFile, quarantine, removePrivateFile, writePrivateFile } from "../../files/private-file.js";
import { isJsonObject, parseJsonObject, stringOf } from "../../json-object.js";
import type { EntryStore, StoredEntry } from "./create-vault.js";
import { keyWrong } from "./key-source.js";
import { asVaultFailure, readPrivateFile, vaultUnreadable, type Warn } from "./private-folder.js";
import { openSealedText, sealText } from "./seal.js";
import { entryToJson, matchesKey, parseVaultKey, storageIdOf, type VaultEntry, type VaultKey } from "./vault.js";
import { entryEnding, headerPath, type UnlockedHeader } from "./vault-header.js";

interface Stored extends VaultEntry {
  readonly key: VaultKey;
  /** The revision that it was to replace. */
  readonly replaces: string | undefined;
}

/** Several times the largest set of tokens seen so far, encrypted. */
const reservedBytes = 64 * 1024;

/** Opens the entries of a folder: a file each, and a draft next to it while it is renewed. `warn` is called for files that other users could read. */
export function openEntryFolder(folder: string, header: UnlockedHeader, warn: Warn): EntryStore {
  const pathOf = (id: string): string => join(folder, `${id}${entryEnding}`);
  // The id is derived from every part of the key, so a file can only be decrypted under its own name, in its own vault.
  const boundTo = (id: string): string => JSON.stringify(["wirescope-vault-entry", 1, header.vaultId, id]);
  const seal = (id: string, content: object): string => sealText(header.entryKey, boundTo(id), JSON.stringify(content));

  const load = async (id: string): Promise<Stored | undefined> => {
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

  const lockedEntry = (key: VaultKey, assertHeld: () => Promise<void>): StoredEntry => {
    const id = storageIdOf(key);
    const path = pathOf(id);
    const draft = join(folder, `${id}.renewal`);
    let renewal: { readonly revision: string; readonly wasInterrupted: boolean } | undefined;

    /** The mark of a renewal, or the new entry; empty if it is unreadable, as while that is written. */
    const loadDraft = async (): Promise<string | undefined> => {
      const sealed = await readPrivateFile(draft, warn);
      if (sealed === undefined) return undefined;
      const opened = openSealedText(header.entryKey, boundTo(id), sealed);
      return "text" in opened ? opened.text : "";
    };
    /** Changes files while the lock is held, in the vault that was opened. */
    const change = async <T>(task: () => Promise<T>): Promise<T> => {
      try {
        await assertHeld();
        await ensureSameVault();
        return await task();
      } catch (error) {
        throw asVaultFailure(path, "written", error);
      }
    };

    return {
      async read() {
        const stored = await load(id);
        if (stored === undefined) await ensureSameVault();
        const next = stored === undefined ? undefined : parseStored((await loadDraft()) ?? "");
        if (stored === undefined || next?.replaces !== stored.revision) return stored && entryOf(stored);
        await change(() => publishPrivateFile(draft, path));
        return entryOf(next);
      },
      async write(value) {
        const json = entryToJson(value);
        return change(async () => {
          const present = await load(id).catch(async (error: unknown) => {
            if (!ToolServerError.is(error, "VAULT_UNREADABLE")) throw error;
            warn(`${path} could not be read, and was kept as ${await quarantine(path)}.`);
            return undefined;
          });
          if (present !== undefined && present.revision !== (renewal?.revision ?? present.revision)) {
            const problem = `${path} was changed by another program while its lock was held.`;
            throw new ToolServerError("VAULT_LOCKED", { problem, advice: "Try again." });
          }
          const entry = { key, value: JSON.parse(json), revision: randomUUID(), replaces: present?.revision };
          const hasSpace = renewal !== undefined;
          renewal = undefined;
          if (hasSpace) await publishPrivateFile(draft, path, seal(id, entry), assertHeld);
          else {
            await writePrivateFile(path, seal(id, entry), assertHeld);
            await rm(draft, { force: true });
          }
          return entryOf(entry);
        });
      },
      remove: () =>
        change(async () => {
          const stored = await load(id);
          renewal = undefined;
          await rm(draft, { force: true });
          if (stored !== undefined) await removePrivateFile(path);
          return stored !== undefined;
        }),
      quarantine: () =>
        change(async () => {
          const aside = await quarantine(path);
          await rm(path, { recursive: true, force: true });
          warn(`${path} could not be used, and was kept as ${aside}.`);
        }),
      startRenewal: (revision) =>
        change(async () => {
          if (renewal === undefined) {
            const before = await loadDraft();
            const wasInterrupted = before === "" || parseJsonObject(before ?? "")?.renews === revision;
            // A new file: a process that lost the lock may be writing the old one.
            await writePrivateFile(draft, seal(id, { renews: revision }).padEnd(reservedBytes), assertHeld);
            renewal = { revision, wasInterrupted };
          }
          await assertHeld();
          return renewal.wasInterrupted;
        }),
      async endRenewal() {
        if (renewal !== undefined && !renewal.wasInterrupted) await change(() => rm(draft, { force: true }));
      },
    };
  };

  return {
    async read(key) {
      const stored = await load(storageIdOf(key));
      if (stored === undefined) await ensureSameVault();
      return stored && entryOf(stored);
    },
    lockedEntry,
    async list(parts = {}) {
      await ensureSameVault();
      const all = await readdir(folder).catch((error: unknown) => {
        throw asVaultFailure(folder, "read", error);
      });
      const names = all.filter((name) => /^[0-9a-f]{64}\.token$/.test(name)).sort();
      const keys: VaultKey[] = [];
      const unreadable: string[] = [];
      for (const name of names) {
        try {
          const stored = await load(name.slice(0, -entryEnding.length));
          if (stored !== undefined && matchesKey(stored.key, parts)) keys.push(stored.key);
        } catch (error) {
          if (!ToolServerError.is(error, "VAULT_UNREADABLE")) throw error;
          unreadable.push(error.message);
        }
      }
      return { keys, unreadable };
    },
  };
}

function entryOf({ value, revision }: VaultEntry): VaultEntry {
  return { value, revision };
}

function parseStored(text: string): Stored | undefined {
  const stored = parseJsonObject(text);
  const key = parseVaultKey(stored?.key);
  if (key === undefined || typeof stored?.revision !== "string" || !isJsonObject(stored.value)) return undefined;
  return { key, value: stored.value, revision: stored.revision, replaces: stringOf(stored.replaces) };
}
