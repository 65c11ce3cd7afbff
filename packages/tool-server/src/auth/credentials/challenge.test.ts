import { expect, test } from "vitest";
import { parseChallenges } from "./challenge.js";

const read = (header: string) =>
  parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

test.each<[string, unknown[]]>([
  ["Bearer", [["bearer", {}]]],
  [
    "Basic, DPoP",
    [
      ["basic", {}],
      ["dpop", {}],
    ],
  ],
  ['BEARER Realm="a", Error=invalid_token', [["bearer", { realm: "a", error: "invalid_token" }]]],
  [
    'Basic realm="a", Bearer realm="b", scope="x y", DPoP algs="ES256"',
    [
      ["basic", { realm: "a" }],
      ["bearer", { realm: "b", scope: "x y" }],
      ["dpop", { algs: "ES256" }],
    ],
  ],
  ['Bearer realm = "a" ,error= "b"', [["bearer", { realm: "a", error: "b" }]]],
  // A comma, an equals sign and an escaped quotation mark within quotation marks are part of the value.
  [
    'Bearer realm="a, Basic b=c", error="say \\"no\\" \\\\"',
    [["bearer", { realm: "a, Basic b=c", error: 'say "no" \\' }]],
  ],
  ['Bearer realm="", error=', [["bearer", { realm: "", error: "" }]]],
  ['Bearer error="a", error="b"', [["bearer", { error: "b" }]]],
  // A parameter without a scheme before it belongs to nothing.
  [",, Bearer", [["bearer", {}]]],
  // A token68 (RFC 9110, section 11.2) belongs to its scheme, and is not a separate scheme.
  ["Negotiate YIIabc+d/e==", [["negotiate", {}]]],
  [
    'Negotiate YII=, Bearer realm="a"',
    [
      ["negotiate", {}],
      ["bearer", { realm: "a" }],
    ],
  ],
  ["", []],
])("[TS-ERR-2] the challenge %s is parsed as RFC 9110 defines it", (header, expected) => {
  expect(read(header)).toEqual(expected);
});

test("all resource_metadata values are kept in order, without empty ones", () => {
  const header = 'Bearer resource_metadata="https://a", resource_metadata="", RESOURCE_METADATA=https://b, DPoP';
  expect(parseChallenges(header).map(({ resourceMetadata }) => resourceMetadata)).toEqual([
    ["https://a", "https://b"],
    [],
  ]);
});

test("characters after the first 8192 are ignored", () => {
  expect(read(`${" ".repeat(8186)}Bearer`)).toEqual([["bearer", {}]]);
  expect(read(`${" ".repeat(8192)}Bearer`)).toEqual([]);
});
