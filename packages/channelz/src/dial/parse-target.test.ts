import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import { formatTarget, isLocal, parseTarget } from "./parse-target.js";

const tcp = (host: string, port: number, more = {}) => ({
  kind: "tcp",
  host,
  port,
  isTls: undefined,
  pathPrefix: "",
  ...more,
});

describe("parseTarget", () => {
  test.each([
    ["127.0.0.1:4690", tcp("127.0.0.1", 4690), "127.0.0.1:4690"],
    ["localhost:1", tcp("localhost", 1), "localhost:1"],
    ["Example.COM:65535", tcp("example.com", 65_535), "example.com:65535"],
    ["bücher.example:80", tcp("xn--bcher-kva.example", 80), "xn--bcher-kva.example:80"],
    ["my_host:80", tcp("my_host", 80), "my_host:80"],
    ["[::1]:4690", tcp("::1", 4690), "[::1]:4690"],
    ["[fe80::1%eth0]:80", tcp("fe80::1%eth0", 80), "[fe80::1%eth0]:80"],
    [":4690", tcp("127.0.0.1", 4690), "127.0.0.1:4690"],
    ["4690", tcp("127.0.0.1", 4690), "127.0.0.1:4690"],
    ["  :4690 ", tcp("127.0.0.1", 4690), "127.0.0.1:4690"],
    ["unix:/run/app.sock", { kind: "unix", path: "/run/app.sock" }, "unix:/run/app.sock"],
    ["unix:app.sock", { kind: "unix", path: "app.sock" }, "unix:app.sock"],
    ["unix:///run/app.sock", { kind: "unix", path: "/run/app.sock" }, "unix:/run/app.sock"],
    ["http://127.0.0.1:80", tcp("127.0.0.1", 80, { isTls: false }), "http://127.0.0.1:80"],
    ["https://example.com", tcp("example.com", 443, { isTls: true }), "https://example.com:443"],
    ["https://[::1]:8443/", tcp("::1", 8443, { isTls: true }), "https://[::1]:8443"],
    ["http://h:1/a/b/", tcp("h", 1, { isTls: false, pathPrefix: "/a/b" }), "http://h:1/a/b"],
  ])("parses the target %s", (text, expected, formatted) => {
    expect(parseTarget(text)).toEqual(expected);
    expect(formatTarget(parseTarget(text))).toBe(formatted);
  });

  test.each([
    ["", "empty"],
    ["   ", "empty"],
    ["localhost", "port is missing"],
    ["localhost:", "not a port"],
    ["localhost:0", "not a port"],
    ["localhost:65536", "not a port"],
    ["localhost:1e3", "not a port"],
    ["99999", "not a port"],
    ["::1:4690", "several colons"],
    ["[::1]", "port is missing"],
    ["[::1", "bracket"],
    ["[::1]x:1", "bracket"],
    ["[localhost]:1", "do not contain an IPv6 address"],
    ["a b:1", "not the name"],
    ["user@host:1", "not the name"],
    ["dns:///host:1", "scheme dns"],
    ["ftp://host", "scheme ftp"],
    ["unix:", "path of the socket is missing"],
    ["unix://host/path", "third slash"],
    ["http://", "not a URL"],
    ["http://host?x=1", "query"],
    ["https://host/#x", "fragment"],
  ])("refuses %j, with the reason and examples", (text, reason) => {
    let error: unknown;
    try {
      parseTarget(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(ChannelzError.is(error, "TARGET_INVALID")).toBe(true);
    expect((error as Error).message).toContain(reason);
    expect((error as Error).message).toContain("Examples: 127.0.0.1:4690");
  });

  test("refuses a password in a URL without repeating it", () => {
    expect(() => parseTarget("https://me:hunter2@host")).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("hunter2") }),
    );
  });

  test("escapes control characters in the message", () => {
    expect(() => parseTarget("\u001b[2J")).toThrow("\\x1b[2J");
  });

  test.each([
    ["localhost:1", true],
    ["127.9.9.9:1", true],
    ["[::1]:1", true],
    ["unix:/x", true],
    ["10.0.0.1:1", false],
    ["127.example.com:1", false],
    ["0.0.0.0:1", false],
  ])("reports whether %s is on this machine: %s", (text, expected) => {
    expect(isLocal(parseTarget(text))).toBe(expected);
  });
});
