import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "./redactor.js";

function redacting(...secrets: string[]): (text: string) => string {
  const registry = createSecretRegistry();
  for (const secret of secrets) registry.add(secret);
  return (text) => registry.redact(text);
}

const secretText = fc.string({ minLength: 8, maxLength: 40, unit: "binary" }).filter((text) => text.trim().length >= 8);

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
    ["in upper case", secret.toUpperCase()],
    ["percent-encoded, all in lower case", encodeURIComponent(secret).toLowerCase()],
  ])("is replaced %s", (_, form) => {
    expect(redact(`before ${form} after`)).toBe("before [redacted] after");
  });

  test("is replaced within the credentials of Basic, whatever the length of the user's name", () => {
    for (const user of ["a", "ab", "abc", "abcd"]) {
      const encoded = Buffer.from(`${user}:${secret}:more`).toString("base64");
      expect(redact(`Basic ${encoded}`)).toContain("[redacted]");
      expect(Buffer.from(redact(encoded).split("[redacted]")[0] ?? "", "base64").toString()).not.toContain("p@s");
    }
  });

  test("is replaced with and without the white space around it", () => {
    expect(redacting(" token-123456 \n")("a token-123456 b")).toBe("a [redacted] b");
  });
});

describe("several secrets", () => {
  test("are replaced longest first, so that no rest of the longer remains", () => {
    expect(redacting("abcdefgh", "abcdefgh-ijkl")("x abcdefgh-ijkl y")).toBe("x [redacted] y");
  });

  test("that overlap in a text leave nothing of each other", () => {
    expect(redacting("abcdefgh", "ghijklmn")("x abcdefghijklmn y")).toBe("x [redacted] y");
  });
});

describe("short values", () => {
  test("of 4 to 7 characters are replaced only as words of their own", () => {
    expect(redacting("prod")("prod: a product (prod)")).toBe("[redacted]: a product ([redacted])");
  });

  test("of fewer than 4 are not kept", () => {
    const registry = createSecretRegistry();
    registry.add("abc");
    registry.add("");
    expect(registry.size).toBe(0);
    expect(registry.redact("abc")).toBe("abc");
  });
});

test("no registered value is in what comes out, whatever the secrets and the text", () => {
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

test("a secret that looks like the mark does not come about by redaction", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[[\]<>*redact█]{8,12}$/), { minLength: 1, maxLength: 4 }), (secrets) => {
      const output = redacting(...secrets)(`[${secrets.join("[")}]${secrets.join("d]")}`);
      for (const secret of secrets) expect(output).not.toContain(secret);
    }),
  );
});

test("text without secrets is left as it is", () => {
  fc.assert(fc.property(fc.string(), (text) => redacting()(text) === text));
});

describe("what is renewed", () => {
  test("stays known for the last few values, and no longer", () => {
    const secrets = createSecretRegistry();
    const tokens = secrets.rotating(3);
    for (let number = 1; number <= 100; number += 1) tokens.add(`token-of-renewal-${number}-end`);
    expect(secrets.size).toBe(3);
    expect(secrets.redact("token-of-renewal-97-end token-of-renewal-98-end token-of-renewal-100-end")).toBe(
      "token-of-renewal-97-end [redacted] [redacted]",
    );
  });

  test("does not let go of what another made known too", () => {
    const secrets = createSecretRegistry();
    secrets.add("shared-secret-value");
    const tokens = secrets.rotating(1);
    tokens.add("shared-secret-value");
    tokens.add("the-next-secret-value");
    expect(secrets.redact("shared-secret-value the-next-secret-value")).toBe("[redacted] [redacted]");
  });
});
