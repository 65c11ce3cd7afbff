import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import { proxyFor } from "./proxy.js";

function proxyOf(url: string, variables: Record<string, string>, includesLoopback = false): string | undefined {
  const proxy = proxyFor(new URL(url), { variables, includesLoopback, secrets: createSecretRegistry() });
  return proxy && `${proxy.variable} ${proxy.isSecure ? "tls " : ""}${proxy.host}:${proxy.port}`;
}

describe("[TS-D-HTTP-2] the proxy of a url", () => {
  test.each([
    ["https://a.example", { HTTPS_PROXY: "http://p:1" }, "HTTPS_PROXY p:1"],
    ["wss://a.example", { HTTPS_PROXY: "http://p:1" }, "HTTPS_PROXY p:1"],
    ["http://a.example", { HTTPS_PROXY: "http://p:1" }, undefined],
    ["http://a.example", { HTTP_PROXY: "http://p:1" }, "HTTP_PROXY p:1"],
    ["ws://a.example", { http_proxy: "http://p:1" }, "http_proxy p:1"],
    ["https://a.example", { HTTP_PROXY: "http://p:1" }, undefined],
    ["https://a.example", { HTTPS_PROXY: "http://p:1", https_proxy: "http://q:2" }, "https_proxy q:2"],
    ["https://a.example", { HTTPS_PROXY: " ", ALL_PROXY: "p" }, "ALL_PROXY p:80"],
    ["https://a.example", { HTTPS_PROXY: "p:3128" }, "HTTPS_PROXY p:3128"],
    ["https://a.example", { HTTPS_PROXY: "https://p" }, "HTTPS_PROXY tls p:443"],
    ["https://a.example", { HTTPS_PROXY: "http://[::1]:3128" }, "HTTPS_PROXY ::1:3128"],
    ["https://a.example", {}, undefined],
  ])("selects for %s with %o the proxy %s", (url, variables, expected) => {
    expect(proxyOf(url, variables as unknown as Record<string, string>)).toBe(expected);
  });

  test.each(["https://localhost", "https://LOCALHOST:1", "http://127.9.9.9", "http://[::1]", "https://x.localhost"])(
    "uses no proxy for %s, unless that is requested",
    (url) => {
      expect(proxyOf(url, { ALL_PROXY: "p" })).toBeUndefined();
      expect(proxyOf(url, { ALL_PROXY: "p" }, true)).toBe("ALL_PROXY p:80");
    },
  );

  test.each([
    ["https://a.example.com", "example.com", true],
    ["https://a.example.com", ".example.com", true],
    ["https://a.example.com", "*.example.com", true],
    ["https://A.Example.COM.", "other, a.EXAMPLE.com", true],
    ["https://a.example.com", "*", true],
    ["https://a.example.com", "ample.com", false],
    ["https://a.example.com", "b.a.example.com", false],
    ["https://a.example.com", "example.com:443", true],
    ["https://a.example.com", "example.com:8443", false],
    ["https://a.example.com:8443", "example.com:8443", true],
    ["https://10.1.2.3", "10.0.0.0/8", true],
    ["https://11.1.2.3", "10.0.0.0/8", false],
    ["https://10.1.2.3", "10.1.2.3", true],
    ["https://10.1.2.3", "10.1.2", false],
    ["https://[fd00::1]", "fd00::/8", true],
    ["https://[fd00::1]:443", "[fd00::1]:443", true],
    ["https://a.example.com", "10.0.0.0/99 , , .", false],
  ])("decides whether %s is exempt by %j: %s", (url, NO_PROXY, isExempt) => {
    expect(proxyOf(url, { ALL_PROXY: "p", NO_PROXY }) === undefined).toBe(isExempt);
    expect(proxyOf(url, { ALL_PROXY: "p", no_proxy: NO_PROXY }) === undefined).toBe(isExempt);
  });

  test.each(["socks5://me:s3cr3tword@p:1080", "http://", "::::"])(
    "names the variable of a proxy that cannot be used: %s",
    (value) => {
      const settings = { variables: { HTTPS_PROXY: value }, includesLoopback: false, secrets: createSecretRegistry() };
      const find = (): unknown => proxyFor(new URL("https://a.example"), settings);
      expect(find).toThrow(
        expect.objectContaining({ code: "SERVER_UNREACHABLE", message: expect.stringMatching(/^HTTPS_PROXY/) }),
      );
      expect(find).not.toThrow(/s3cr3tword/);
    },
  );
});
