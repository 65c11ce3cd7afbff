import { createMemoryVault, type Vault, type VaultKey } from "@wirescope/tool-server/auth";

/** A vault in front of another one. Sign-ins reach the other one only when committed. */
export interface StagingVault extends Vault {
  /** Writes the staged items. The tokens are written last, in space that was reserved first. */
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
  const idOf = ({ profile, server, resource, issuer, tenant, item }: VaultKey): string =>
    JSON.stringify([profile, server, resource, issuer, tenant, item]);
  const get: Vault["get"] = async (key) => {
    if (!isStaged(key)) return vault.get(key);
    const own = await staged.get(key);
    if (own !== undefined || key.item === "tokens" || removed.has(idOf(key))) return own;
    return vault.get(key);
  };
  return {
    kind: vault.kind,
    describe: () => vault.describe(),
    get,
    put: (key, value) => (isStaged(key) ? staged : vault).put(key, value),
    reserve: (key, task) => (isStaged(key) ? staged : vault).reserve(key, task),
    async setAside(key) {
      if (!isStaged(key)) return vault.setAside(key);
      removed.add(idOf(key));
      return staged.setAside(key);
    },
    async deleteIf(key, expectedRevision) {
      if (!isStaged(key)) return vault.deleteIf(key, expectedRevision);
      if ((await get(key))?.revision !== expectedRevision) return false;
      removed.add(idOf(key));
      await staged.setAside(key);
      return true;
    },
    list: () => staged.list(),
    withLock: (key, task, options) => vault.withLock(key, task, options),
    watch: (listener) => staged.watch(listener),
    dispose: () => staged.dispose(),
    async commit() {
      const { keys } = await staged.list();
      const copy = async (key: VaultKey, put: Vault["put"]): Promise<void> => {
        const entry = await staged.get(key);
        if (entry !== undefined) await put(key, entry.value);
      };
      const tokens = keys.find(({ item }) => item === "tokens");
      if (tokens === undefined) return;
      await vault.reserve(tokens, async (put) => {
        for (const key of keys) if (key.item !== "tokens") await copy(key, vault.put);
        await copy(tokens, (_, value) => put(value));
      });
    },
  };
}
