import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../any-character.test.helper.js";
import { describeVaultKey, parseVaultKey, storageIdOf, type VaultKey } from "./vault.js";
import { keyOf } from "./vault-contract.test.helper.js";

const text = fc.string({ unit: anyCharacter, maxLength: 12 });
const anyKey: fc.Arbitrary<VaultKey> = fc.record({
  owner: text,
  profile: text,
  server: text,
  resource: text,
  issuer: text,
  tenant: text,
  item: text,
});

test("[TS-D-STORE-2] [TS-D-TENANT-1] two keys have the same storage id only if all their parts are the same", () => {
  fc.assert(
    fc.property(anyKey, anyKey, (a, b) => {
      const same = JSON.stringify(parseVaultKey(a)) === JSON.stringify(parseVaultKey(b));
      expect(storageIdOf(a) === storageIdOf(b)).toBe(same);
    }),
  );
  expect(storageIdOf(keyOf({ server: "ab", resource: "c" }))).not.toBe(
    storageIdOf(keyOf({ server: "a", resource: "bc" })),
  );
  expect(storageIdOf(keyOf({ server: 'a","b' }))).not.toBe(storageIdOf(keyOf({ server: "a", resource: "b" })));
  // In UTF-8 all lone surrogates are the same character.
  expect(storageIdOf(keyOf({ tenant: "\ud800" }))).not.toBe(storageIdOf(keyOf({ tenant: "\ud801" })));
  expect(storageIdOf(keyOf({ issuer: "https://a" }))).not.toBe(storageIdOf(keyOf({ issuer: "https://a/" })));
});

test("a storage id does not depend on the order of the parts, and never changes", () => {
  const reversed = Object.fromEntries(Object.entries(keyOf()).reverse()) as unknown as VaultKey;
  expect(storageIdOf(reversed)).toBe(storageIdOf(keyOf()));
  expect(storageIdOf(keyOf())).toBe("1cef959ab3008dca00026e90bc787802208c0bb7e0ddec03193f5779b7673116");
  expect(storageIdOf(keyOf({ owner: "ada" }))).toBe("799678d5b468a37d52a1a51605d9fdf805d27294a233269525c98781f0347792");
});

test("a key that was stored before keys had an owner has none", () => {
  const { owner, ...old } = keyOf();
  expect(parseVaultKey(old)).toEqual({ ...old, owner });
});

test("a described key contains no control characters, and is bounded", () => {
  expect(describeVaultKey(keyOf())).toBe('tokens of "mail" in profile "development"');
  const words = describeVaultKey(keyOf({ server: `\u001b[2J${"x".repeat(1000)}` }));
  expect(words).not.toContain("\u001b");
  expect(words.length).toBeLessThan(200);
});
