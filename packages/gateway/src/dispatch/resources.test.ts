import { describe, expect, test } from "vitest";
import { parsePrefixedUri, prefixedUri } from "./prefixed-uri.js";
import { templateFits } from "./resource-owners.js";

test.each([
  ["plain", "file:///a/b"],
  ["two words", "custom://x?y=z#f"],
  ["a/b", "notes"],
])("parses the prefixed URI of server %s and %s", (server, uri) => {
  expect(parsePrefixedUri(prefixedUri(server, uri))).toEqual({ server, uri });
});

test.each(["file:///a", "wirescope://", "wirescope://server", "wirescope://%ZZ/a"])(
  "does not parse %s as a prefixed URI",
  (text) => {
    expect(parsePrefixedUri(text)).toBeUndefined();
  },
);

describe("URI templates", () => {
  test.each([
    ["notes://{id}/text", "notes://7/text"],
    ["notes://{id}{?q}", "notes://7?q=a"],
    ["file:///{+path}", "file:///a/b/c"],
    ["static://a", "static://a"],
    ["{any}", "whatever:it/is"],
    ["a{x}a", "aa"],
  ])("matches the template %s with the URI %s", (template, uri) => {
    expect(templateFits(template, uri)).toBe(true);
  });

  test.each([
    ["notes://{id}/text", "notes://7/image"],
    ["notes://{id}/text", "other://7/text"],
    ["static://a", "static://ab"],
    ["a{x}a", "a"],
    ["a{x}b{y}c", "acb"],
  ])("does not match the template %s with the URI %s", (template, uri) => {
    expect(templateFits(template, uri)).toBe(false);
  });

  test("matches in linear time, even for a hostile URI", () => {
    const startedAt = performance.now();
    expect(templateFits("{a}x".repeat(200), "x".repeat(100_000).concat("y"))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});
