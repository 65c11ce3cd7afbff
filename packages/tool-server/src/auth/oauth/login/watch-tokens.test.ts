import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openFileVault } from "../../vault/file-vault.js";
import { keyFromVariable } from "../../vault/key-source.js";
import { temporaryFolder } from "../../vault/temporary-folder.test.helper.js";
import { type Vault, writeEntry } from "../../vault/vault.js";
import { createOAuthWorld, currentToken, replaceToken } from "../oauth-world.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };

/** Two processes that share a vault, from the vault's point of view. */
async function openTwice(): Promise<readonly [Vault, Vault]> {
  const directory = join(await temporaryFolder(), "vault");
  const key = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
  const vaults = [await openFileVault({ directory, key }), await openFileVault({ directory, key })] as const;
  onTestFinished(() => Promise.all(vaults.map((vault) => vault.dispose())).then(() => undefined));
  return vaults;
}

test("[TS-D-OAUTH-6] a session notices that another process signs in, renews the token and signs out, and uses the new tokens", async () => {
  const world = await createOAuthWorld();
  const [here, there] = await openTwice();
  const watching = world.session({ vault: here });
  const other = world.session({ vault: there });
  const changes: string[] = [];
  const stop = watching.watch((change) => changes.push(change));
  expect(await currentToken(watching)).toBeUndefined();

  const first = await other.signIn(world.person);
  await expect.poll(() => changes, pollOptions).toEqual(["signed-in"]);
  expect((await currentToken(watching))?.revision).toBe(first.revision);

  const second = await replaceToken(other, first);
  await expect.poll(() => changes, pollOptions).toEqual(["signed-in", "renewed"]);
  expect(watching.cachedToken()?.revision).toBe(second?.revision);

  await other.signOut();
  await expect.poll(() => changes, pollOptions).toEqual(["signed-in", "renewed", "signed-out"]);
  expect(watching.cachedToken()).toBeNull();
  // It did nothing of that by itself.
  expect(world.authorization.count("/token", "refresh_token")).toBe(1);
  stop();
});

test("a vault that is disposed of while a session reads the tokens of another process ends its watch without an error", async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", onUnhandled);
  onTestFinished(() => void process.off("unhandledRejection", onUnhandled));
  const world = await createOAuthWorld();
  const [here, there] = await openTwice();
  const first = await world.session({ vault: there }).signIn(world.person);
  let isDisposed = false;
  const closing: Vault = {
    ...here,
    async get(key) {
      const value = await here.get(key);
      await here.dispose();
      isDisposed = true;
      return value;
    },
  };
  world.session({ vault: closing }).watch(() => {});
  await replaceToken(world.session({ vault: there }), first);
  await expect.poll(() => isDisposed, pollOptions).toBe(true);
  // Node reports unhandled rejections after the microtasks of a turn.
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test("the pause after a failed renewal does not apply to tokens of another process", async () => {
  const world = await createOAuthWorld(["refresh-failing"]);
  const [here, there] = await openTwice();
  const watching = world.session({ vault: here });
  const first = await watching.signIn(world.person);
  await expect(replaceToken(watching, first)).rejects.toMatchObject({ code: "SERVER_FAILED" });
  expect(watching.describe().pausedUntil).toBeDefined();
  const changes: string[] = [];
  watching.watch((change) => changes.push(change));
  await world.session({ vault: there }).signIn(world.person);
  await expect.poll(() => changes, pollOptions).toEqual(["renewed"]);
  expect(watching.describe().pausedUntil).toBeUndefined();
});

test("a write of another process during a sign-in does not restore the previous authorization server", async () => {
  const world = await createOAuthWorld();
  const other = await createOAuthWorld();
  const [here, there] = await openTwice();
  let reads = 0;
  const counting: Vault = {
    ...here,
    async get(key) {
      const value = await here.get(key);
      reads += 1;
      return value;
    },
  };
  const session = world.session({ vault: counting });
  await session.signIn(world.person);
  session.watch(() => {});
  world.tool.authorizationServers = [other.authorization.issuer];
  let during: string | undefined;
  await session.signIn({
    async show(request, signal) {
      const before = reads;
      await writeEntry(
        there,
        { owner: "", profile: "x", server: "x", resource: "x", issuer: "x", tenant: "x", item: "x" },
        {},
      );
      // The session has noticed it when it has read its issuer again.
      await expect.poll(() => reads, pollOptions).toBeGreaterThan(before);
      await new Promise((resolve) => setImmediate(resolve));
      during = session.describe().issuer;
      return world.person.show(request, signal);
    },
    confirm: async () => true,
  });
  expect(during).toBe(other.authorization.issuer);
  expect(session.describe()).toMatchObject({ isSignedIn: true, issuer: other.authorization.issuer });
});
