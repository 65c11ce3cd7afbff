import { describe, expect, test } from "vitest";
import { isMeantFor, readTokenEvidence } from "./refusal-evidence.js";

test("matches an audience with this server by its origin, and concludes nothing from a name", () => {
  const server = new URL("https://api.example.com/mcp");
  expect(isMeantFor(["https://api.example.com"], server)).toBe(true);
  expect(isMeantFor(["https://other.example", "https://api.example.com/v1"], server)).toBe(true);
  expect(isMeantFor(["https://other.example"], server)).toBe(false);
  expect(isMeantFor(["https://other.example", "a-name"], server)).toBeUndefined();
  expect(isMeantFor([], server)).toBeUndefined();
  for (const scheme of ["http", "ws", "wss"]) expect(isMeantFor([`${scheme}://other.example`], server)).toBe(false);
  expect(isMeantFor(["https://api.example.com"], new URL("wss://api.example.com/"))).toBe(true);
});

test("matches a host as audience, with or without its port, and concludes nothing from an invalid url", () => {
  const server = new URL("https://api.example.com:8443/mcp");
  expect(isMeantFor(["api.example.com"], server)).toBe(true);
  expect(isMeantFor(["api.example.com:8443"], server)).toBe(true);
  expect(isMeantFor(["https://api.example.com"], server)).toBe(false);
  expect(isMeantFor(["https://"], server)).toBeUndefined();
  expect(isMeantFor(["x-https://other.example"], server)).toBeUndefined();
});

describe("the evidence of a token", () => {
  const server = new URL("https://api.example.com/mcp");
  const read = (claims: unknown, name = "Authorization", scheme = "Bearer ") => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const value = `${scheme}${part({ alg: "none" })}.${part(claims)}.c2ln`;
    return readTokenEvidence({ name, from: "configuration", variables: ["A"] }, value, server, (text) => `<${text}>`);
  };

  test("[TS-D-WHY-2] describes a token by its times, audience, scopes and tenant, redacted, and nothing else", () => {
    const claims = {
      exp: 10,
      iat: 5,
      aud: "a-name",
      scope: " read  write ",
      tid: "acme",
      org_id: 7,
      team_id: {},
      sub: "ada",
    };
    expect(read(claims)).toEqual({
      header: "Authorization",
      from: "configuration",
      variables: ["A"],
      issuedAt: 5000,
      notBefore: undefined,
      expiresAt: 10_000,
      audience: ["<a-name>"],
      isForServer: undefined,
      scopes: ["<read>", "<write>"],
      tenants: [
        { claim: "tid", value: "<acme>" },
        { claim: "org_id", value: "<7>" },
      ],
    });
  });

  test("[TS-D-WHY-2] reads a token from any header, with bounded lists", () => {
    const aud = ["", 1, ...Array.from({ length: 11 }, (_, index) => `a${index}`)];
    const info = read({ exp: 1, aud, scp: ["read", "write"] }, "X-Token", "");
    expect(info?.audience).toHaveLength(10);
    expect(info?.audience[0]).toBe("<a0>");
    expect(info?.scopes).toEqual(["<read>", "<write>"]);
    expect(read({ exp: 1 })).toMatchObject({ audience: [], scopes: undefined, tenants: [] });
    expect(read({ exp: 1, scope: "" })?.scopes).toEqual([]);
  });

  test("returns nothing without a JSON Web Token", () => {
    const header = { name: "Authorization", from: "configuration", variables: [] } as const;
    expect(readTokenEvidence(header, "Bearer opaque", server, (text) => text)).toBeUndefined();
    expect(read(null)).toBeUndefined();
  });
});
