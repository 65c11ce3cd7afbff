import { describe, expect, test } from "vitest";
import { parsePrefixedUri, prefixedUri, templateFit } from "./resource-uri.js";

test.each([
  ["plain", "file:///a/b"],
  ["two words", "custom://x?y=z#f"],
  ["a/b", "notes"],
])("of %s, %s can be taken apart again", (server, uri) => {
  expect(parsePrefixedUri(prefixedUri(server, uri))).toEqual({ server, uri });
});

test.each(["file:///a", "wirescope://", "wirescope://server", "wirescope://%ZZ/a"])("%s is not one", (text) => {
  expect(parsePrefixedUri(text)).toBeUndefined();
});

describe("a template", () => {
  test.each([
    ["notes://{id}/text", "notes://7/text"],
    ["notes://{id}{?q}", "notes://7?q=a"],
    ["file:///{+path}", "file:///a/b/c"],
    ["static://a", "static://a"],
    ["{any}", "whatever:it/is"],
    ["a{x}a", "aa"],
  ])("%s fits %s", (template, uri) => {
    expect(templateFit(template, uri)).toBeTypeOf("number");
  });

  test.each([
    ["notes://{id}/text", "notes://7/image"],
    ["notes://{id}/text", "other://7/text"],
    ["static://a", "static://ab"],
    ["a{x}a", "a"],
    ["a{x}b{y}c", "acb"],
  ])("%s does not fit %s", (template, uri) => {
    expect(templateFit(template, uri)).toBeUndefined();
  });

  test("fits better the more of it is in the uri", () => {
    const uri = "notes://7/text";
    expect(templateFit("notes://{id}/text", uri)).toBeGreaterThan(templateFit("notes://{rest}", uri) ?? 0);
  });

  test("takes no longer for a uri that is made to be slow", () => {
    const startedAt = performance.now();
    expect(templateFit("{a}x".repeat(200), "x".repeat(100_000).concat("y"))).toBeUndefined();
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});
