import { expect, test } from "vitest";
import { createFakeClock } from "../../../fake-clock.test.helper.js";
import { createSecretRegistry } from "../../../secrets/redactor.js";
import { createMemoryVault } from "../../vault/memory-vault.js";
import { type Vault, type VaultKey, writeEntry } from "../../vault/vault.js";
import { interceptWrites } from "../../vault/vault-contract.test.helper.js";
import { type TokenRecord, tokenRecordToJson } from "../login-store.js";
import { defaultOAuthLimits } from "../oauth-context.js";
import { createOAuthLog } from "../oauth-log.js";
import { createTokenManager, type TokenManager } from "./token-manager.js";

const record: TokenRecord = {
  accessToken: "access-1",
  tokenType: "Bearer",
  refreshToken: "refresh-1",
  expiresAt: undefined,
  obtainedAt: 0,
  scopes: undefined,
  identity: undefined,
  clientId: "us",
  resource: "https://h/mcp",
  requestedScopes: [],
  proofKey: undefined,
};
const key: VaultKey = {
  owner: "",
  profile: "test",
  server: "notes",
  resource: "https://h/mcp",
  issuer: "https://as",
  tenant: "",
  item: "tokens",
};

interface SlowVault {
  readonly vault: Vault;
  readonly manager: TokenManager;
  /** Delays the reads that begin while it is set. */
  delayRead: (() => Promise<void>) | undefined;
  /** Called before tokens are written. */
  beforeWrite: (() => Promise<void>) | undefined;
  renewals: number;
}

/** A token manager on a memory vault whose reads and writes can be delayed. */
async function createSlowVault(): Promise<SlowVault> {
  const memory = createMemoryVault();
  await writeEntry(memory, key, tokenRecordToJson(record));
  const vault: Vault = {
    ...interceptWrites(memory, async (_, value, write) => {
      await self.beforeWrite?.();
      return write(value);
    }),
    async get(wanted) {
      const found = await memory.get(wanted);
      await self.delayRead?.();
      return found;
    },
  };
  const manager = createTokenManager({
    server: "notes",
    secrets: createSecretRegistry(),
    clock: createFakeClock(),
    limits: defaultOAuthLimits,
    log: createOAuthLog({ secrets: createSecretRegistry(), clock: createFakeClock() }),
    store: { keepFailure: async () => {}, clearFailure: async () => {} },
    vault,
    key,
    async renew(old, beforeRequest) {
      await beforeRequest();
      self.renewals += 1;
      return { kind: "tokens", record: { ...old, accessToken: `access-${self.renewals + 1}` } };
    },
  });
  const self: SlowVault = { vault, manager, delayRead: undefined, beforeWrite: undefined, renewals: 0 };
  return self;
}

test("[TS-OAUTH-6] a slow read of the vault does not bring back a token that was renewed meanwhile", async () => {
  const slow = await createSlowVault();
  const { manager } = slow;
  const old = await manager.current();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  slow.delayRead = () => released;
  const reloaded = manager.reload();
  slow.delayRead = undefined;
  const renewed = await manager.replace(old);
  release();
  await reloaded;
  expect(renewed?.record.accessToken).toBe("access-2");
  expect((await manager.current())?.record.accessToken).toBe("access-2");
  expect(slow.renewals).toBe(1);
});

test("[TS-OAUTH-6] [TS-ERR-5] a caller that gives up does not interrupt a renewal that started, and the renewed token is saved", async () => {
  const slow = await createSlowVault();
  const { manager, vault } = slow;
  const old = await manager.current();
  const controller = new AbortController();
  let begun = (): void => undefined;
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  slow.beforeWrite = async () => {
    begun();
    await new Promise(setImmediate);
  };
  const replaced = manager.replace(old, controller.signal);
  await isBegun;
  controller.abort(new Error("enough"));
  await expect(replaced).rejects.toThrow("enough");
  await manager.stop(new Error("closed"));
  expect((await vault.get(key))?.value.accessToken).toBe("access-2");
});
