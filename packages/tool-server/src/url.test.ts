import { expect, test } from "vitest";
import { parseUrl } from "./url.js";

test("parses a URL that is not ASCII the same way however many URLs were parsed before", () => {
  const parse = (): string | undefined => parseUrl("https://m\u00fcnchen.example/\u00fc")?.href;
  const found = new Set(Array.from({ length: 20_000 }, parse));
  expect([...found]).toEqual(["https://xn--mnchen-3ya.example/%C3%BC"]);
});

test("returns undefined for a string that is not a URL, alone or with its base", () => {
  expect(parseUrl("/path")).toBeUndefined();
  expect(parseUrl("http://[", "https://example.com")).toBeUndefined();
  expect(parseUrl("/path", "https://example.com")?.href).toBe("https://example.com/path");
});
