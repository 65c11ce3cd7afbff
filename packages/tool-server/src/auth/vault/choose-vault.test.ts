import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chooseVault, defaultVaultDirectory } from "./choose-vault.js";
import { keyFromVariable } from "./key-source.js";
import { type Keychain, keychainUnavailable, systemKeychain } from "./keychain.js";
import { temporaryFolder } from "./temporary-folder.test.helper.js";
import { writeEntry } from "./vault.js";
import { describeVaultContract, keyOf } from "./vault-contract.test.helper.js";

/** Replaces the keychains of other systems; the real Secret Service has its own test. */
function keychainOf(items: Map<string, string> = new Map()): Keychain & { readonly items: Map<string, string> } {
  return {
    items,
    read: async (account) => items.get(account),
    write: async (account, secret) => void items.set(account, secret),
  };
}

const unavailable = async (): Promise<never> => {
  throw keychainUnavailable("nobody responses");
};
const noKeychain: Keychain = { read: unavailable, write: unavailable };

function newKey(): ReturnType<typeof keyFromVariable> {
  return keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
}

describeVaultContract("the vault with its key in a keychain", async () => {
  const keychain = keychainOf();
  const vault = await chooseVault({ kind: "keychain", keychain, directory: await temporaryFolder() });
  return { vault, secrets: [...keychain.items.values()] };
});

describe("[TS-D-STORE-1] the default vault", () => {
  test("the vault is the keychain if there is one, even if a key is given", async () => {
    const directory = await temporaryFolder();
    const keychain = keychainOf();
    for (const key of [{}, { key: newKey() }]) {
      const vault = await chooseVault({ directory, keychain, ...key });
      expect(vault.describe()).toEqual({
        kind: "keychain",
        path: join(directory, "keychain"),
        summary: expect.stringContaining("the key is stored in the keychain of this user"),
      });
    }
    expect(keychain.items.size).toBe(1);
  });

  test("the vault is the encrypted file if there is no keychain and a key is given", async () => {
    const directory = await temporaryFolder();
    const vault = await chooseVault({ directory, keychain: noKeychain, key: newKey() });
    expect(vault.describe()).toEqual({
      kind: "file",
      path: join(directory, "file"),
      summary: expect.stringMatching(/the variable KEY\. No keychain is available\.$/),
    });
    expect(existsSync(join(directory, "keychain"))).toBe(false);
  });

  test("the vault is in memory if there is neither a keychain nor a key, with a warning that says why", async () => {
    const directory = await temporaryFolder();
    const vault = await chooseVault({ directory, keychain: noKeychain });
    expect(vault.kind).toBe("memory");
    expect(vault.describe().warning).toMatch(/nobody responses.*or set a key.*memory only/);
    expect(existsSync(join(directory, "keychain"))).toBe(false);
  });

  test("the vault in memory warns about stored tokens that cannot be read", async () => {
    const directory = await temporaryFolder();
    await chooseVault({ directory, keychain: keychainOf() });
    await chooseVault({ directory, keychain: noKeychain, key: newKey() });
    const { warning } = (await chooseVault({ directory, keychain: noKeychain })).describe();
    expect(warning).toContain(join(directory, "keychain"));
    expect(warning).toContain(join(directory, "file"));
  });

  test("an existing vault that cannot be opened is an error, and no weaker vault is used", async () => {
    const directory = await temporaryFolder();
    const keychain = keychainOf();
    await chooseVault({ directory, keychain });
    const [account, secret] = [...keychain.items][0] ?? ["", ""];
    for (const spoil of [
      () => keychain.items.delete(account),
      () => keychain.items.set(account, "?"),
      () => keychain.items.set(account, randomBytes(32).toString("base64")),
    ]) {
      spoil();
      await expect(chooseVault({ directory, keychain })).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
    }
    keychain.items.set(account, secret);
    expect((await chooseVault({ directory, keychain })).kind).toBe("keychain");

    await chooseVault({ directory, keychain: noKeychain, key: newKey() });
    const wrong = chooseVault({ directory, keychain: noKeychain, key: newKey() });
    await expect(wrong).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
  });
});

describe("[TS-D-STORE-1] a chosen vault", () => {
  test("a keychain that is unavailable is an error", async () => {
    const directory = await temporaryFolder();
    const choice = chooseVault({ kind: "keychain", directory, keychain: noKeychain, key: newKey() });
    await expect(choice).rejects.toMatchObject({ code: "KEYCHAIN_UNAVAILABLE" });
  });

  test("an encrypted file without a key is an error", async () => {
    const directory = await temporaryFolder();
    const choice = chooseVault({ kind: "file", directory, keychain: keychainOf() });
    await expect(choice).rejects.toMatchObject({
      code: "VAULT_KEY_WRONG",
      message: expect.stringContaining("Set one of WIRESCOPE_VAULT_KEY_FILE"),
    });
  });

  test("the chosen kind of vault is used", async () => {
    const directory = await temporaryFolder();
    const keychain = keychainOf();
    expect((await chooseVault({ kind: "file", directory, keychain, key: newKey() })).kind).toBe("file");
    expect((await chooseVault({ kind: "memory", directory, keychain, key: newKey() })).kind).toBe("memory");
    expect(keychain.items.size).toBe(0);
  });
});

test("each folder has its own key in the keychain, even after it was moved", async () => {
  const directory = await temporaryFolder();
  const keychain = keychainOf();
  const first = await chooseVault({ directory: join(directory, "a"), keychain });
  await chooseVault({ directory: join(directory, "b"), keychain });
  expect(keychain.items.size).toBe(2);
  await writeEntry(first, keyOf(), { token: "1" });
  await rename(join(directory, "a"), join(directory, "c"));
  const moved = await chooseVault({ directory: join(directory, "c"), keychain });
  expect((await moved.get(keyOf()))?.value).toEqual({ token: "1" });
});

test("a keychain that does not return what was stored is not used", async () => {
  const directory = await temporaryFolder();
  const forgetful = { read: async () => undefined, write: async () => {} };
  await expect(chooseVault({ kind: "keychain", directory, keychain: forgetful })).rejects.toMatchObject({
    code: "KEYCHAIN_UNAVAILABLE",
    message: expect.stringContaining("does not return what was stored"),
  });
});

test.runIf(process.platform === "linux")("the system keychain says what to do if no Secret Service runs", async () => {
  process.env.DBUS_SESSION_BUS_ADDRESS = "unix:path=/nonexistent/bus";
  const error = await systemKeychain()
    .read("vault")
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "KEYCHAIN_UNAVAILABLE",
    message: expect.stringMatching(
      /is unavailable: .*Start a Secret Service.*or set a key for an encrypted file, for example WIRESCOPE_VAULT_KEY_FILE\.$/,
    ),
  });
});

test("tokens are stored in XDG_DATA_HOME if it is an absolute path, otherwise in ~/.local/share", () => {
  const HOME = "/home/someone";
  expect(defaultVaultDirectory({ HOME, XDG_DATA_HOME: "/data" })).toBe("/data/wirescope/tokens");
  for (const XDG_DATA_HOME of [undefined, "", "relative"]) {
    expect(defaultVaultDirectory({ HOME, XDG_DATA_HOME })).toBe("/home/someone/.local/share/wirescope/tokens");
  }
});

// No user can create a folder there, not even root, who may write to every folder of a test.
test.runIf(existsSync("/sys/kernel"))(
  "a read-only folder is reported with the variable that selects another one, and the advice works",
  async () => {
    const open = (home: string) =>
      chooseVault({ kind: "file", directory: defaultVaultDirectory({ XDG_DATA_HOME: home }), key: newKey() });
    await expect(open("/sys")).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining("use another folder: set XDG_DATA_HOME to its absolute path"),
    });
    const vault = await open(await temporaryFolder());
    await writeEntry(vault, keyOf(), {});
    expect(await vault.get(keyOf())).toMatchObject({ value: {} });
  },
);
