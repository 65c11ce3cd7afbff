import { expect, test } from "vitest";
import { parseWebUrl } from "./web-url.js";

test("accepts only web URLs without credentials, and separates the host from the rest", () => {
  expect(parseWebUrl("https://example.com:8443/a?b#c")).toEqual({
    href: "https://example.com:8443/a?b#c",
    protocol: "https:",
    host: "example.com:8443",
    rest: "/a?b#c",
  });
  // A host that looks like another one is shown as it is on the wire.
  expect(parseWebUrl("https://exаmple.com/")?.host).toBe("xn--exmple-4nf.com");
  for (const url of [
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc",
    "https://google.com@evil.example/",
    "",
    7,
    "x",
  ]) {
    expect(parseWebUrl(url)).toBeUndefined();
  }
});
