import { randomBytes } from "node:crypto";
import { fstatSync, openSync } from "node:fs";
import { chmod, chown, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { childEnvironment, scrubbedEnvironment } from "../../process/child-environment.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { keyFromEnvironment, vaultVariables } from "./choose-vault.js";
import { openFileVault } from "./file-vault.js";
import { type KeySource, keyFromFile, keyFromPassphrase, keyFromVariable } from "./key-source.js";
import { keyFromKeychain } from "./keychain.js";
import { fingerprintsBelow, temporaryFolder } from "./temporary-folder.test.helper.js";
import { writeEntry } from "./vault.js";
import { keyOf } from "./vault-contract.test.helper.js";

const cost = 2 ** 15;
const passphrase = "correct horse battery staple";

async function setUp(key: KeySource): Promise<string> {
  const directory = join(await temporaryFolder(), "vault");
  const vault = await openFileVault({ directory, key });
  await writeEntry(vault, keyOf(), { token: "1" });
  await vault.dispose();
  return directory;
}

async function tokenIn(directory: string, key: KeySource): Promise<unknown> {
  const vault = await openFileVault({ directory, key });
  return (await vault.get(keyOf()))?.value.token;
}

describe("a passphrase", () => {
  test("[TS-D-STORE-7] a passphrase opens its vault; a wrong one is an error that changes nothing", async () => {
    const directory = await setUp(keyFromPassphrase(passphrase, { cost }));
    const before = await fingerprintsBelow(directory);
    for (const wrong of ["correct horse", "", "  "]) {
      const opening = openFileVault({ directory, key: keyFromPassphrase(wrong, { cost }) });
      await expect(opening).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
    }
    expect(await fingerprintsBelow(directory)).toEqual(before);
    expect(await tokenIn(directory, keyFromPassphrase(passphrase))).toBe("1");
  });

  test("a passphrase is the same regardless of its Unicode normalization", async () => {
    const directory = await setUp(keyFromPassphrase("zo\u00eb's key", { cost }));
    expect(await tokenIn(directory, keyFromPassphrase("zoe\u0308's key"))).toBe("1");
  });

  test("a passphrase is hashed by scrypt with a salt for each vault, and a default cost of 2^17", async () => {
    const headers = await Promise.all(
      [keyFromPassphrase(passphrase), keyFromPassphrase(passphrase, { cost })].map(async (key) =>
        JSON.parse(await readFile(join(await setUp(key), "vault.json"), "utf8")),
      ),
    );
    expect(headers.map(({ key }) => [key.kdf, key.N, key.r, key.p])).toEqual([
      ["scrypt", 2 ** 17, 8, 1],
      ["scrypt", 2 ** 15, 8, 1],
    ]);
    expect(headers[0].key.salt).not.toBe(headers[1].key.salt);
    for (const weak of [2 ** 14, 2 ** 15 + 1, 2 ** 21]) {
      expect(() => keyFromPassphrase(passphrase, { cost: weak })).toThrow(TypeError);
    }
  });

  test("scrypt parameters that are too weak or too expensive are rejected", async () => {
    const directory = await setUp(keyFromPassphrase(passphrase, { cost }));
    const path = join(directory, "vault.json");
    const header = JSON.parse(await readFile(path, "utf8"));
    for (const change of [{ N: 2 }, { N: 2 ** 30 }, { p: 1000 }, { r: 1 }, { salt: "" }, { kdf: "md5" }]) {
      await writeFile(path, JSON.stringify({ ...header, key: { ...header.key, ...change } }));
      const opening = openFileVault({ directory, key: keyFromPassphrase(passphrase) });
      await expect(opening).rejects.toMatchObject({ code: "VAULT_UNREADABLE", message: expect.stringContaining(path) });
    }
    // Valid parameters, but not those of this vault.
    await writeFile(path, JSON.stringify({ ...header, key: { ...header.key, N: 2 ** 16 } }));
    const opening = openFileVault({ directory, key: keyFromPassphrase(passphrase) });
    await expect(opening).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
  });
});

describe("a header", () => {
  test("a missing header is not written again if there are entries", async () => {
    const key = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
    const directory = await setUp(key);
    await rm(join(directory, "vault.json"));
    const before = await fingerprintsBelow(directory);
    await expect(openFileVault({ directory, key })).rejects.toMatchObject({
      code: "VAULT_UNREADABLE",
      message: expect.stringContaining("vault.json is missing"),
    });
    expect(await fingerprintsBelow(directory)).toEqual(before);
  });

  test("a header that is damaged, foreign or of a later version is reported and not changed", async () => {
    const key = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
    const directory = await setUp(key);
    const path = join(directory, "vault.json");
    const header = JSON.parse(await readFile(path, "utf8"));
    for (const text of [
      "",
      "{",
      "[]",
      "{}",
      JSON.stringify({ ...header, version: 2 }),
      JSON.stringify({ ...header, key: 1 }),
    ]) {
      await writeFile(path, text);
      await expect(openFileVault({ directory, key })).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
      expect(await readFile(path, "utf8")).toBe(text);
    }
    for (const change of [{ id: "other" }, { verifier: "" }, { verifier: "AAAA" }]) {
      await writeFile(path, JSON.stringify({ ...header, ...change }));
      await expect(openFileVault({ directory, key })).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
    }
  });
});

describe("a key of 32 bytes", () => {
  const bytes = randomBytes(32);

  test("a key is the same from a variable and from a file, as base64 or raw", async () => {
    const file = join(await temporaryFolder(), "key");
    const directory = await setUp(keyFromVariable("KEY", { KEY: `${bytes.toString("base64")}\n` }));
    expect(await tokenIn(directory, keyFromVariable("KEY", { KEY: bytes.toString("base64url") }))).toBe("1");
    for (const content of [bytes, `${bytes.toString("base64")}\n`]) {
      await writeFile(file, content, { mode: 0o600 });
      expect(await tokenIn(directory, keyFromFile(file))).toBe("1");
    }
    const other = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
    await expect(tokenIn(directory, other)).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
  });

  test("a key is read from a descriptor, raw or as base64, which is then closed", async () => {
    const folder = await temporaryFolder();
    const directory = await setUp(keyFromVariable("KEY", { KEY: bytes.toString("base64") }));
    await writeFile(join(folder, "0"), bytes);
    await writeFile(join(folder, "1"), `${bytes.toString("base64")}\n`);
    for (const descriptor of ["0", "1"].map((name) => openSync(join(folder, name), "r"))) {
      const key = keyFromEnvironment({ [vaultVariables.keyDescriptor]: String(descriptor) });
      expect(key?.from).toBe("descriptor");
      if (key === undefined) throw new Error("There is no key.");
      expect(await tokenIn(directory, key)).toBe("1");
      expect(() => fstatSync(descriptor)).toThrow("EBADF");
      // The process caches it from then on.
      expect(await tokenIn(directory, key)).toBe("1");
    }
    for (const wrong of ["", "x", "-1", "1", "2", "999999"]) {
      const key = keyFromEnvironment({ [vaultVariables.keyDescriptor]: wrong });
      if (key === undefined) throw new Error("There is no key.");
      await expect(tokenIn(directory, key)).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
    }
  });

  test("a key that is missing or not of 32 bytes is reported without its value", async () => {
    const directory = join(await temporaryFolder(), "vault");
    const values = [
      undefined,
      "",
      " ",
      "short",
      bytes.toString("hex"),
      randomBytes(31).toString("base64"),
      `${"A".repeat(42)}!`,
    ];
    for (const KEY of values) {
      const error = await openFileVault({ directory, key: keyFromVariable("KEY", { KEY }) }).catch((e: Error) => e);
      expect(error).toMatchObject({
        code: "VAULT_KEY_WRONG",
        message: expect.stringMatching(/variable KEY .*openssl rand -base64 32/),
      });
      if (KEY !== undefined && KEY.trim() !== "") expect(inspect(error)).not.toContain(KEY);
    }
  });

  test("a key file that others can read, or that is not a file, is rejected and not changed", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "key");
    const directory = join(folder, "vault");
    const opening = (): Promise<unknown> => openFileVault({ directory, key: keyFromFile(file) });
    await expect(opening()).rejects.toMatchObject({
      code: "VAULT_KEY_WRONG",
      message: expect.stringContaining("it does not exist"),
    });
    await writeFile(file, bytes);
    for (const mode of [0o640, 0o604, 0o620]) {
      await chmod(file, mode);
      await expect(opening()).rejects.toMatchObject({
        code: "VAULT_KEY_WRONG",
        message: expect.stringContaining(`chmod 600 ${file}`),
      });
    }
    await chmod(file, 0o600);
    if (process.geteuid?.() === 0) {
      await chown(file, 12345, 12345);
      await expect(opening()).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
      await chown(file, 0, 0);
    }
    await opening();
    await writeFile(file, randomBytes(2000));
    await expect(opening()).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
    const asFolder = openFileVault({ directory, key: keyFromFile(folder) });
    await expect(asFolder).rejects.toMatchObject({ code: "VAULT_KEY_WRONG" });
  });
});

test("a vault is not opened with another kind of key, and the error names the right one", async () => {
  const keychain = { read: async () => undefined, write: async () => {} };
  const sources = {
    "a passphrase": keyFromPassphrase(passphrase, { cost }),
    "a key of 32 bytes": keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") }),
  };
  for (const [name, source] of Object.entries(sources)) {
    const directory = await setUp(source);
    const before = await fingerprintsBelow(directory);
    const others = [...Object.values(sources).filter((other) => other !== source), keyFromKeychain({ keychain })];
    for (const key of others) {
      await expect(openFileVault({ directory, key })).rejects.toMatchObject({
        code: "VAULT_KEY_WRONG",
        message: expect.stringContaining(`was created with ${name}`),
      });
    }
    expect(await fingerprintsBelow(directory)).toEqual(before);
  }
});

test("[TS-OAUTH-5] a key is never printed, is added to the registry, and reaches no child process", async () => {
  const folder = await temporaryFolder();
  const secret = randomBytes(32).toString("base64");
  const file = join(folder, "key");
  await writeFile(file, secret, { mode: 0o600 });
  const cases: [string, Record<string, string>][] = [
    [secret, { [vaultVariables.key]: secret }],
    [secret, { [vaultVariables.keyFile]: file }],
    [passphrase, { [vaultVariables.passphrase]: passphrase }],
  ];
  for (const [words, environment] of cases) {
    const secrets = createSecretRegistry();
    const key = keyFromEnvironment(environment, { secrets });
    if (key === undefined) throw new Error("no key");
    await openFileVault({ directory: join(folder, key.from), key });
    expect(inspect(key, { depth: 9, showHidden: true }) + JSON.stringify(key)).not.toContain(words);
    expect(secrets.redact(`<${words}>`)).not.toContain(words);
    // A helper gets the first, a stdio server the second.
    expect([scrubbedEnvironment(environment, []), childEnvironment(environment, "npx")]).toEqual([{}, {}]);
  }
});

test("the environment provides one key, or none; two are an error", () => {
  expect(keyFromEnvironment({})).toBeUndefined();
  expect(keyFromEnvironment({ [vaultVariables.key]: "" })?.from).toBe("variable");
  expect(() => keyFromEnvironment({ [vaultVariables.key]: "a", [vaultVariables.passphrase]: "b" })).toThrow(
    expect.objectContaining({ code: "VAULT_KEY_WRONG", message: expect.stringContaining(vaultVariables.passphrase) }),
  );
});
