import { randomUUID } from "node:crypto";
import { steadyClock } from "../../clock.js";
import { createVault, createVaultListeners, type StoredEntry } from "./create-vault.js";
import { entryToJson, matchesKey, storageIdOf, type Vault, type VaultEntry, type VaultKey } from "./vault.js";

/** Why tokens are kept in memory only. */
export interface MemoryVaultOptions {
  /** Why no better vault is available, for the warning. */
  readonly because?: string;
}

/** Stores tokens in the memory of this process only. */
export function createMemoryVault(options: MemoryVaultOptions = {}): Vault {
  const entries = new Map<string, { readonly key: VaultKey; readonly text: string; readonly revision: string }>();
  /** The revisions whose renewal began. */
  const marks = new Map<string, string>();
  const name = `memory vault ${randomUUID()}`;
  const listeners = createVaultListeners();
  const warning = [
    options.because,
    "Tokens are stored in memory only: when this process ends, you have to sign in to every server again.",
    // A given reason comes with its own advice.
    options.because === undefined
      ? "Use a keychain, or set a key for an encrypted file, for example WIRESCOPE_VAULT_KEY_FILE."
      : undefined,
  ];
  const read = (key: VaultKey): VaultEntry | undefined => {
    const entry = entries.get(storageIdOf(key));
    return entry && { value: JSON.parse(entry.text), revision: entry.revision };
  };
  const lockedEntry = (key: VaultKey, assertHeld: () => Promise<void>): StoredEntry => {
    const id = storageIdOf(key);
    let renewal: { readonly revision: string; readonly wasInterrupted: boolean } | undefined;
    const replace = async (text?: string): Promise<boolean> => {
      await assertHeld();
      renewal = undefined;
      marks.delete(id);
      const existed = entries.delete(id);
      if (text !== undefined) entries.set(id, { key: { ...key }, text, revision: randomUUID() });
      listeners.notify();
      return existed;
    };
    return {
      read: async () => read(key),
      async write(value) {
        await replace(entryToJson(value));
        return read(key) as VaultEntry;
      },
      remove: () => replace(),
      async quarantine() {
        await replace();
      },
      async startRenewal(revision) {
        await assertHeld();
        renewal ??= { revision, wasInterrupted: marks.get(id) === revision };
        marks.set(id, revision);
        return renewal.wasInterrupted;
      },
      async endRenewal() {
        if (renewal !== undefined && !renewal.wasInterrupted) marks.delete(id);
      },
    };
  };
  return createVault({
    kind: "memory",
    describe: () => ({
      kind: "memory",
      summary: "Tokens are stored in the memory of this process only.",
      warning: warning.filter((sentence) => sentence !== undefined).join(" "),
    }),
    entries: {
      read: async (key) => read(key),
      async list(parts = {}) {
        const keys = [...entries.values()].map(({ key }) => key).filter((key) => matchesKey(key, parts));
        return { keys: keys.map((key) => ({ ...key })), unreadable: [] };
      },
      lockedEntry,
    },
    listeners,
    clock: steadyClock,
    lockOf: (id) => `${name} ${id}`,
    inProcess: true,
  });
}
