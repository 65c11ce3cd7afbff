import { createSecretKey, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openSealedText, sealText } from "./seal.js";

const key = createSecretKey(randomBytes(32));

test("a sealed text can be decrypted with its key, in its place", () => {
  const sealed = sealText(key, "here", "a secret");
  expect(sealed).not.toContain("secret");
  expect(openSealedText(key, "here", sealed)).toEqual({ text: "a secret" });
  expect(openSealedText(key, "there", sealed)).toHaveProperty("problem");
  expect(openSealedText(createSecretKey(randomBytes(32)), "here", sealed)).toHaveProperty("problem");
});

test("any text is decrypted unchanged", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (place, text) => {
      expect(openSealedText(key, place, sealText(key, place, text))).toEqual({ text });
    }),
  );
});

test("a truncated authentication tag is rejected", () => {
  const sealed = JSON.parse(sealText(key, "here", "a secret"));
  const tag = Buffer.from(sealed.tag, "base64");
  for (const length of [0, 4, 12, 15]) {
    const cut = JSON.stringify({ ...sealed, tag: tag.subarray(0, length).toString("base64") });
    expect(openSealedText(key, "here", cut)).toHaveProperty("problem");
  }
});
