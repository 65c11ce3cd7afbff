import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../any-character.test.helper.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";

test("[TS-D-TRUST-2] any string is printed as one line of ASCII in quotes", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 3_000 }), (text) => {
      expect(quoteText(text)).toMatch(/^"[\x20-\x7e]*"$/);
      expect(quoteUnlessPlain(text)).toMatch(/^[\x20-\x7e]+$/);
    }),
  );
});

test.each([
  ["a colour and a move of the cursor", "a\u001b[2K\u001b[1Gb", '"a\\u{1b}[2K\\u{1b}[1Gb"'],
  ["a control character of eight bits", "a\u009b2Jb", '"a\\u{9b}2Jb"'],
  ["a line that is not one of ours", "x\n  ! approved", '"x\\u{a}  ! approved"'],
  ["text that runs backwards", "a\u202eb", '"a\\u{202e}b"'],
  ["letters that cannot be seen", "a\u200bb\u3164\u{e0061}", '"a\\u{200b}b\\u{3164}\\u{e0061}"'],
  ["a letter that looks like another", "n\u043ede", '"n\\u{43e}de"'],
  ["a quote that would end ours", 'a" (trusted)', '"a\\" (trusted)"'],
  ["an escape that is none", "\\u{41}", '"\\\\u{41}"'],
  ["spaces that push the rest out of sight", `ls${" ".repeat(500)}; rm`, '"ls\\u{20}*500; rm"'],
])("[TS-D-TRUST-2] %s is shown unambiguously", (_, text, shown) => {
  expect(quoteText(text)).toBe(shown);
});

test("[TS-D-TRUST-2] different strings never look alike, unless they are truncated with a notice", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", " ", "\\", '"', "*", "{", "3", "}", "u", "\u001b"),
    maxLength: 12,
  });
  fc.assert(
    fc.property(text, text, (a, b) => {
      if (a !== b) expect(quoteText(a)).not.toBe(quoteText(b));
    }),
    { numRuns: 2_000 },
  );
});

test("[TS-D-TRUST-2] both ends of a long string are shown, with the number of characters left out", () => {
  const shown = quoteText(`start${"x".repeat(10_000)}end`);
  expect(shown).toMatch(/^"start/);
  expect(shown).toMatch(/end"$/);
  expect(shown).toContain("[8208 characters not shown]");
  expect(shown.length).toBeLessThan(2_000);
});

test("a plain name has no quotes", () => {
  expect(
    ["headers.X-API-Key", "args[0]", "a b", "x".repeat(200)].map((name) => quoteUnlessPlain(name).charAt(0)),
  ).toEqual(["h", "a", '"', '"']);
});
