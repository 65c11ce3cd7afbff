import { validateHeaderName, validateHeaderValue } from "node:http";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../any-character.test.helper.js";
import { headerNameDefect, headerValueDefect } from "./headers.js";

const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.constantFrom("a", "-", ":", " ", "\r", "\n", "\0", "\t", "\x7f", "\x80", "é", "☃") }),
);

test("accepts only HTTP tokens as header names", () => {
  fc.assert(
    fc.property(text, (name) => {
      if (headerNameDefect(name) !== undefined) return;
      expect(name).toMatch(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/);
      validateHeaderName(name);
    }),
    { numRuns: 2000 },
  );
});

test("rejects values with CR, LF, NUL or characters that Node cannot send", () => {
  fc.assert(
    fc.property(text, (value) => {
      const defect = headerValueDefect(value);
      if (/[\r\n\0]/.test(value)) expect(defect).toBeDefined();
      if (defect !== undefined) return;
      validateHeaderValue("X-Any", value);
      expect(new Headers({ "X-Any": value }).get("X-Any")).toBe(value);
    }),
    { numRuns: 2000 },
  );
});

test("never quotes the value of a header", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 6, unit: fc.constantFrom("q", "Q", "7") }), (secret) => {
      for (const value of [`${secret}\n`, ` ${secret}`, `\${${secret}}`, `${secret}☃`]) {
        expect(headerValueDefect(value)).toBeDefined();
        expect(headerValueDefect(value)).not.toContain(secret);
      }
    }),
  );
});
