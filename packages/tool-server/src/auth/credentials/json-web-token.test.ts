import { expect, test } from "vitest";
import { readTokenTimes, tokenTimesOfHeader } from "./json-web-token.js";

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokenOf = (claims: unknown, header: unknown = { alg: "RS256" }): string => `${part(header)}.${part(claims)}.c2ln`;
const none = { issuedAt: undefined, notBefore: undefined, expiresAt: undefined };

test("reads the times of a token in milliseconds, each from its own claim", () => {
  expect(readTokenTimes(tokenOf({ iat: 1, nbf: 2, exp: 3.5 }))).toEqual({
    issuedAt: 1000,
    notBefore: 2000,
    expiresAt: 3500,
  });
});

test("accepts a token without times or without a signature", () => {
  expect(readTokenTimes(tokenOf({}))).toEqual(none);
  expect(readTokenTimes(`${part({ alg: "none" })}.${part({ exp: 0 })}.`)).toEqual({ ...none, expiresAt: 0 });
});

test.each(["1", null, -1, 1e300, 8.64e12 + 1, {}])("rejects %j as a time", (exp) => {
  expect(readTokenTimes(tokenOf({ exp }))).toEqual(none);
});

test("accepts the latest time that a Date can represent", () => {
  const { expiresAt } = readTokenTimes(tokenOf({ exp: 8.64e12 })) ?? none;
  expect(new Date(expiresAt ?? Number.NaN).getTime()).toBe(8.64e15);
});

test.each([
  ["", "nothing"],
  ["abc", "an opaque token"],
  ["a.b.c", "parts that are not JSON"],
  [`${part({ alg: 1 })}.${part({ exp: 1 })}.c2ln`, "an alg that is not a string"],
  [`${part({ typ: "JWT" })}.${part({ exp: 1 })}.c2ln`, "no alg"],
  [`${part(null)}.${part({ exp: 1 })}.c2ln`, "a header that is null"],
  [tokenOf(null), "claims that are null"],
  [tokenOf("text"), "claims that are a string"],
  [`${tokenOf({ exp: 1 })}.more`, "a fourth part"],
  [`x ${tokenOf({ exp: 1 })}`, "text before it"],
  [`${tokenOf({ exp: 1 })} x`, "text after it"],
])("rejects %j as a token: %s", (text) => {
  expect(readTokenTimes(text)).toBeUndefined();
});

test("finds the token after the scheme in Authorization, and as the value of any other header", () => {
  const token = tokenOf({ exp: 3 });
  expect(tokenTimesOfHeader("authorization", `Bearer ${token}`)?.expiresAt).toBe(3000);
  expect(tokenTimesOfHeader("X-Token", token)?.expiresAt).toBe(3000);
  expect(tokenTimesOfHeader("X-Token", `Bearer ${token}`)).toBeUndefined();
});
