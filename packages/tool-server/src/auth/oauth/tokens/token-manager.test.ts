import { expect, test } from "vitest";
import { createFakeClock } from "../../../fake-clock.test.helper.js";
import { createSecretRegistry } from "../../../secrets/redactor.js";
import { createTokenManager, type TokenManager } from "./token-manager.js";
import type { TokenRecord } from "./token-record.js";
import type { HeldToken, TokenStore } from "./token-store.js";

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

/** A store whose reads can be held up. */
function createSlowStore(): TokenStore & {
  delay: (() => Promise<void>) | undefined;
  renewals: number;
  manager(): TokenManager;
} {
  let kept: HeldToken | undefined = { record, revision: "1" };
  const self = {
    delay: undefined as (() => Promise<void>) | undefined,
    renewals: 0,
    async read() {
      const found = kept;
      await self.delay?.();
      return found;
    },
    async write(written: TokenRecord) {
      kept = { record: written, revision: String(Number(kept?.revision ?? 0) + 1) };
      return kept;
    },
    async remove() {
      kept = undefined;
      return true;
    },
    reserve: <T>(task: (write: (written: TokenRecord) => Promise<HeldToken>) => Promise<T>) => task(self.write),
    alone: <T>(task: () => Promise<T>) => task(),
    manager: () =>
      createTokenManager({
        server: "notes",
        secrets: createSecretRegistry(),
        clock: createFakeClock(),
        onEvent: () => undefined,
        store: self,
        async renew(old) {
          self.renewals += 1;
          return { kind: "tokens", record: { ...old, accessToken: `access-${self.renewals + 1}` } };
        },
      }),
  };
  return self;
}

test("a slow look into the vault does not bring back a token that was renewed meanwhile", async () => {
  const store = createSlowStore();
  const manager = store.manager();
  const old = await manager.current();
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  store.delay = () => held;
  const slow = manager.reload();
  store.delay = undefined;
  const renewed = await manager.replace(old);
  letGo();
  await slow;
  expect(renewed?.record.accessToken).toBe("access-2");
  expect((await manager.current())?.record.accessToken).toBe("access-2");
  expect(store.renewals).toBe(1);
});

test("who gives up waiting does not cut off a renewal that began, and its result is kept", async () => {
  const store = createSlowStore();
  const manager = store.manager();
  const old = await manager.current();
  const controller = new AbortController();
  let begun = (): void => undefined;
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const write = store.write.bind(store);
  store.write = async (written) => {
    begun();
    await new Promise(setImmediate);
    return write(written);
  };
  const replaced = manager.replace(old, controller.signal);
  await isBegun;
  controller.abort(new Error("enough"));
  await expect(replaced).rejects.toThrow("enough");
  await manager.close(new Error("closed"));
  expect((await store.read())?.record.accessToken).toBe("access-2");
});
