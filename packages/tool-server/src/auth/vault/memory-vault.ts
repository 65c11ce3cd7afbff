import { randomUUID } from "node:crypto";
import { steadyClock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { withFileLock } from "../../files/file-lock.js";
import type { Vault, VaultEntry, VaultKey } from "./vault.js";
import { createVaultActivity, createVaultListeners } from "./vault-activity.js";
import { describeVaultKey, entryToJson, storageIdOf } from "./vault-entry.js";

/** Why tokens are kept in memory only. */
export interface MemoryVaultOptions {
  /** Why no better vault is available, for the warning. */
  readonly because?: string;
}

/** Stores tokens in the memory of this process only. */
export function createMemoryVault(options: MemoryVaultOptions = {}): Vault {
  const entries = new Map<string, { readonly key: VaultKey; readonly text: string; readonly revision: string }>();
  const name = `memory vault ${randomUUID()}`;
  const activity = createVaultActivity();
  const listeners = createVaultListeners();
  const warning = [
    options.because,
    "Tokens are stored in memory only: when this process ends, you have to sign in to every server again.",
    // A given reason comes with its own advice.
    options.because === undefined
      ? "Use a keychain, or set a key for an encrypted file, for example WIRESCOPE_VAULT_KEY_FILE."
      : undefined,
  ];
  const put: Vault["put"] = (key, value) =>
    activity.run(async () => {
      const entry = { key: { ...key }, text: entryToJson(value), revision: randomUUID() };
      entries.set(storageIdOf(key), entry);
      listeners.notify();
      return { value: JSON.parse(entry.text), revision: entry.revision } satisfies VaultEntry;
    });
  return {
    kind: "memory",
    describe: () => ({
      kind: "memory",
      summary: "Tokens are stored in the memory of this process only.",
      warning: warning.filter((sentence) => sentence !== undefined).join(" "),
    }),
    get: (key) =>
      activity.run(async () => {
        const entry = entries.get(storageIdOf(key));
        return entry && { value: JSON.parse(entry.text), revision: entry.revision };
      }),
    put,
    reserve: (key, task) => task((value) => put(key, value)),
    setAside: (key) => activity.run(async () => void entries.delete(storageIdOf(key))),
    deleteIf: (key, expectedRevision) =>
      activity.run(async () => {
        const id = storageIdOf(key);
        const isDeleted = entries.get(id)?.revision === expectedRevision && entries.delete(id);
        if (isDeleted) listeners.notify();
        return isDeleted;
      }),
    list: () =>
      activity.run(async () => ({ keys: [...entries.values()].map(({ key }) => ({ ...key })), unreadable: [] })),
    async withLock(key, task, lockOptions = {}) {
      const tooLong = (_: string, waitMs: number): ToolServerError =>
        new ToolServerError("VAULT_LOCKED", {
          problem: `The ${describeVaultKey(key)} was in use by this process for ${waitMs} ms.`,
          advice: "Try again.",
        });
      const { closing } = activity;
      const all = { ...lockOptions, closing, clock: steadyClock, tooLong, inProcess: true } as const;
      return activity.track(withFileLock(`${name} ${storageIdOf(key)}`, task, all));
    },
    watch: listeners.add,
    async dispose() {
      listeners.clear();
      await activity.close();
      entries.clear();
    },
  };
}
