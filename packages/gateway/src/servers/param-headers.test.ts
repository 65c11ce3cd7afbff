import { decodeHeaderText } from "@wirescope/tool-server/internal";
import { describe, expect, test } from "vitest";
import { assertParamHeaders, buildParamHeaders, paramHeadersOf } from "./param-headers.js";

const region = { type: "string", "x-mcp-header": "Region" };
const schema = {
  type: "object",
  properties: {
    region,
    place: { type: "object", properties: { zone: { type: "integer", "x-mcp-header": "Zone" } } },
    other: { type: "string" },
  },
};
const declared = paramHeadersOf(schema) ?? [];

test("finds declarations along properties, at any depth", () => {
  expect(declared).toEqual([
    { path: ["region"], header: "mcp-param-region", isNumber: false },
    { path: ["place", "zone"], header: "mcp-param-zone", isNumber: true },
  ]);
  expect(paramHeadersOf({ type: "object" })).toEqual([]);
});

describe("invalid declarations", () => {
  test.each<[string, object]>([
    ["at the root", { "x-mcp-header": "A" }],
    ["in items", { properties: { a: { type: "array", items: region } } }],
    ["in one of several", { oneOf: [{ properties: { region } }] }],
    ["in definitions", { $defs: { region } }],
    ["a number", { properties: { a: { type: "number", "x-mcp-header": "A" } } }],
    ["an object", { properties: { a: { type: "object", "x-mcp-header": "A" } } }],
    ["a name that is no header", { properties: { a: { type: "string", "x-mcp-header": "A B" } } }],
    ["an empty name", { properties: { a: { type: "string", "x-mcp-header": "" } } }],
    ["one name twice", { properties: { a: region, b: { type: "string", "x-mcp-header": "REGION" } } }],
  ])("rejects an invalid header declaration: %s", (_, bad) => {
    expect(paramHeadersOf(bad)).toBeUndefined();
  });
});

describe("headers and arguments", () => {
  const args = { region: "eu", place: { zone: 7 } };
  const check =
    (headers: Record<string, string>, given: unknown = args) =>
    () =>
      assertParamHeaders(declared, given, headers);

  test("accepts headers that equal the arguments", () => {
    expect(check({ "mcp-param-region": "eu", "mcp-param-zone": "7" })).not.toThrow();
    expect(check({ "mcp-param-region": "eu", "mcp-param-zone": "7.0" })).not.toThrow();
    expect(check({}, {})).not.toThrow();
    expect(check({ "mcp-param-region": "eu" }, { region: null })).not.toThrow();
    expect(check(buildParamHeaders(declared, args) as Record<string, string>)).not.toThrow();
  });

  test.each<[string, Record<string, string>]>([
    ["one is absent", { "mcp-param-region": "eu" }],
    ["one is another", { "mcp-param-region": "us", "mcp-param-zone": "7" }],
    ["a number is another", { "mcp-param-region": "eu", "mcp-param-zone": "8" }],
    ["the wrapping is broken", { "mcp-param-region": "=?base64?x?=", "mcp-param-zone": "7" }],
  ])("rejects headers if %s", (_, headers) => {
    expect(check(headers)).toThrow(expect.objectContaining({ code: -32_020, status: 400 }));
  });

  test.each(["plain", " spaced ", "größe", "=?base64?x?=", "", "line\nbreak"])(
    "encodes and decodes %j without loss",
    (text) => {
      const [header = ""] = Object.values(buildParamHeaders(declared, { region: text }));
      expect(header).toMatch(/^[\x20-\x7e]*$/);
      // Whitespace around a value is lost on the way.
      expect(header).toBe(header.trim());
      expect(decodeHeaderText(header)).toBe(text);
    },
  );
});
