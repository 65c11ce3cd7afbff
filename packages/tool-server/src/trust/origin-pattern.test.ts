import { expect, test } from "vitest";
import { parseTemplate } from "../config/template.js";
import { matchesOrigin, originOf, parseOriginPattern } from "./origin-pattern.js";

function matches(text: string, url: string): [narrow: boolean, wide: boolean] {
  const pattern = parseOriginPattern(text);
  if ("problem" in pattern) throw new Error(pattern.problem);
  const origin = originOf(parseTemplate(url));
  if (origin === undefined) throw new Error(`${url} has no origin`);
  return [matchesOrigin(pattern, origin, false), matchesOrigin(pattern, origin, true)];
}

test.each([
  ["https://a.example.com", "https://a.example.com/mcp?x"],
  ["https://a.example.com", "HTTPS://A.EXAMPLE.COM:443"],
  ["https://a.example.com.", "https://a.example.com"],
  ["https://a.example.com", "https://a.example.com."],
  ["https://*.example.com", "https://a.example.com"],
  ["https://*.example.com", "https://b.a.example.com"],
  ["https://*.example.com", "https://${TENANT}.example.com"],
  ["https://*.example.com", "https://x-${TENANT}.eu.example.com/${PATH_PART}"],
  ["https://a.example.com:8443", "https://a.example.com:8443"],
  ["https://a.example.com:*", "https://a.example.com:${PORT}"],
  ["https://*", "https://${A}.example.com"],
  ["*://a.example.com", "wss://a.example.com"],
  ["https://b\u00fccher.example", "https://xn--bcher-kva.example"],
  ["https://[::1]", "https://[0:0::1]"],
  ["https://127.0.0.1", "https://0x7f.1"],
])("[TS-D-TRUST-7] matches the pattern %s with %s", (pattern, url) => {
  expect(matches(pattern, url)).toEqual([true, true]);
});

test.each([
  ["https://a.example.com", "https://b.example.com"],
  ["https://a.example.com", "http://a.example.com"],
  ["https://*.example.com", "https://example.com"],
  ["https://*.example.com", "https://a.example.com.evil.example"],
  ["https://*.example.com", "https://evilexample.com"],
  ["https://*.example.com", "https://evil.example/a.example.com"],
  ["https://*.example.com", "https://evil.example?a.example.com"],
  ["https://*.example.com", "https://${TENANT}.example.org"],
  ["https://a.example.com:8443", "https://a.example.com"],
])("[TS-D-TRUST-7] does not match %s with %s, neither narrowly nor widely", (pattern, url) => {
  expect(matches(pattern, url)).toEqual([false, false]);
});

test.each([
  ["https://a.example.com", "https://a.example.com:8443"],
  ["https://a.example.com", "https://a.example.com:${PORT}"],
  ["https://a.example.com:8443", "https://a.example.com:${PORT}"],
  ["https://a.example.com", "https://${TENANT}.example.com"],
  ["https://*.b.example.com", "https://a.${TENANT}.example.com"],
  ["https://10.0.0.1", "https://10.0.0.${LAST}"],
])("[TS-D-TRUST-7] matches %s possibly with %s: it denies it but does not allow it", (pattern, url) => {
  expect(matches(pattern, url)).toEqual([false, true]);
});

test.each([
  "a.example.com",
  "https://",
  "https://a.example.com/",
  "https://a.example.com/mcp",
  "https://user@a.example.com",
  "https://a.*.com",
  "https://*a.example.com",
  "https://*.*.com",
  "https://*.10.0.0.1",
  "https://a.example.com:x",
  "ftp://a.example.com",
  "https://a b",
  "https://a?b",
  "constructor://a",
])("[TS-D-TRUST-8] rejects %s as a pattern", (text) => {
  expect(parseOriginPattern(text)).toEqual({ problem: expect.any(String) });
});
