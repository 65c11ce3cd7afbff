import { createMemoryVault, type LockedEntry, type Vault, type VaultKey } from "@wirescope/tool-server/auth";

/** A vault in front of another one. Sign-ins reach the other one only when committed. */
export interface StagingVault extends Vault {
  /** Writes the staged items, the tokens last and all under their lock. */
  commit(): Promise<void>;
}

/** The items that a sign-in writes. Everything else, such as a renewed identity token, is written immediately. */
const stagedItems = ["issuer", "client", "tokens"];

/**
 * Stages the sign-ins of a vault. The known authorization server and client are read from the vault, so that a change is noticed; the
 * tokens are not, so that each sign-in is a new one.
 */
export function createStagingVault(vault: Vault): StagingVault {
  const staged = createMemoryVault();
  const removed = new Set<string>();
  const isStaged = ({ item }: VaultKey): boolean => stagedItems.includes(item);
  const idOf = (key: VaultKey): string => JSON.stringify(Object.entries(key).sort());
  const get: Vault["get"] = async (key) => {
    if (!isStaged(key)) return vault.get(key);
    const own = await staged.get(key);
    if (own !== undefined || key.item === "tokens" || removed.has(idOf(key))) return own;
    return vault.get(key);
  };
  const stagedEntry = (key: VaultKey, entry: LockedEntry): LockedEntry => ({
    ...entry,
    read: () => get(key),
    async remove() {
      const exists = (await get(key)) !== undefined;
      removed.add(idOf(key));
      await entry.remove();
      return exists;
    },
    quarantine() {
      removed.add(idOf(key));
      return entry.quarantine();
    },
  });
  return {
    kind: vault.kind,
    describe: () => vault.describe(),
    get,
    list: (parts) => staged.list(parts),
    withLock(key, task, options) {
      if (!isStaged(key)) return vault.withLock(key, task, options);
      // Under the lock of the vault too, because what it stores is read.
      return vault.withLock(
        key,
        (_, signal) => staged.withLock(key, (entry) => task(stagedEntry(key, entry), signal)),
        options,
      );
    },
    watch: (listener) => staged.watch(listener),
    dispose: () => staged.dispose(),
    async commit() {
      const { keys } = await staged.list();
      const tokens = keys.find(({ item }) => item === "tokens");
      if (tokens === undefined) return;
      await vault.withLock(tokens, async (entry) => {
        const copy = async (key: VaultKey, to: LockedEntry): Promise<void> => {
          const value = (await staged.get(key))?.value;
          if (value !== undefined) await to.write(value);
        };
        for (const key of keys) if (key.item !== "tokens") await vault.withLock(key, (other) => copy(key, other));
        await copy(tokens, entry);
      });
    },
  };
}
