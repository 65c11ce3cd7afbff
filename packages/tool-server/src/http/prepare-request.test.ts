import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../any-character.test.helper.js";
import { startHostileServer } from "./hostile-http-server.test.helper.js";
import { createTestClient, get, post } from "./http-client.test.helper.js";
import { assertSendable, createRequestPreparer } from "./prepare-request.js";

const check = (headers: Record<string, string>, host = "a.test", path = "/"): void =>
  assertSendable(headers, host, path);

describe("a prepared request", () => {
  test("contains no line break or NUL in any header, the host or the path, whatever is given", () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 8 }),
      fc.string({
        unit: fc.constantFrom("\r", "\n", "\0", " ", ":", "a", "\x85", "\u2028", "\u010a", "\u010d", "\x7f"),
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 3 }), text, text, (headers, host, path) => {
        try {
          check(headers, host, `/${path}`);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          return;
        }
        // As bytes: characters beyond Latin-1 would lose their upper byte.
        const written = Buffer.from(`${host} ${path} ${Object.entries(headers).flat().join(" ")}`, "latin1");
        expect(written.toString("latin1")).not.toMatch(/[\r\n\0]/);
        expect(`${host}${path}`).not.toContain(" ");
      }),
      { numRuns: 400 },
    );
  });

  test.each([
    ["a line break in its name", { "a\r\nb": "s3cr3t" }],
    ["an empty name", { "": "s3cr3t" }],
    ["a colon in its name", { "a:b": "s3cr3t" }],
    ["a name that is not ASCII", { ä: "s3cr3t" }],
    ["CR", { a: "s3cr3t\r" }],
    ["LF", { a: "s3cr3t\n" }],
    ["NUL", { a: "s3cr3t\0" }],
    ["a character that becomes a line feed in Latin-1", { a: "s3cr3t\u010a" }],
  ])("throws a TypeError that does not quote a header with %s", (_, headers) => {
    expect(() => check(headers as unknown as Record<string, string>)).toThrow(TypeError);
    expect(() => check(headers as unknown as Record<string, string>)).not.toThrow("s3cr3t");
  });

  test.each([
    "Transfer-Encoding",
    "content-length",
    "HOST",
    "Connection",
    "Expect",
    "Upgrade",
    "TE",
    "Trailer",
    "Keep-Alive",
  ])("refuses the header %s of a caller", (name) => {
    expect(() => check({ [name]: "5" })).toThrow(
      `The request cannot be sent: the header ${name} is set by the connection itself.`,
    );
  });
});

describe("the url of a request", () => {
  test.each([
    "http://a.test/a\r\nX: b",
    "http://a.test/a b?c d\te#f g",
    "http://a.test/\0\x01\x7f\u00e4\u010a\u{1f600}?\0\u00e4\u010a",
    "http://u:p@a.test/",
    "http://ä.test:81/..//..\\x",
    "http://a.test?'\"<>`{}|^",
  ])("encodes %j in one line without a space or a line break", (url) => {
    const { path, host } = createRequestPreparer()({ url: new URL(url), headers: {} });
    expect(path).toMatch(/^\/[\x21-\x7e]*$/);
    expect(host).toMatch(/^[a-z0-9.-]+$/);
  });

  test.each(["http://a\r\n.test/", "http://a.test\t/"])("gets %j from URL without line breaks", (url) => {
    expect(new URL(url).host).toBe("a.test");
  });

  test.each(["x://a.test/b", "x:a b", "file:///a", "data:a,b", "blob:http://a.test/b", "x://a%0d%0a/"])(
    "rejects %j, because it is not an http or https URL",
    (url) => {
      const place = () => createRequestPreparer()({ url: new URL(url), headers: {} });
      expect(place).toThrow(new TypeError("The request cannot be sent: its URL is not an http or https URL."));
    },
  );
});

test("sends a body unchanged, even if it is not valid Unicode", async () => {
  const server = await startHostileServer((_, response) => response.end("x"));
  const { http } = createTestClient();
  const texts = fc.string({ unit: fc.constantFrom("a", "\r\n", "\0", "ä", "€", "\u{1f600}", "\ud83d", "\ude00") });
  await fc.assert(
    fc.asyncProperty(texts, fc.constantFrom("x", "\xe4"), async (body, value) => {
      const response = await http.send(post(server.url, body, { headers: { value } }));
      expect(await response.text(10)).toBe("x");
      const request = server.requests.at(-1);
      expect([request?.body, request?.headers.value]).toEqual([Buffer.from(body).toString(), value]);
    }),
    { numRuns: 100 },
  );
  await (await http.send(get(server.url))).text(10);
  expect(server.connections).toBe(1);
});
