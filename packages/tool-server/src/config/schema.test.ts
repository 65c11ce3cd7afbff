import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { entryTypes, fieldNames, fieldTable } from "./entry.js";
import { examples, networkEntry, withEntry } from "./examples.test.helper.js";
import { violations } from "./json-schema.test.helper.js";
import { parseConfiguration } from "./parse-configuration.js";

const schema = JSON.parse(readFileSync(new URL("../../schema/mcp.schema.json", import.meta.url), "utf8"));

function isAccepted(text: string): boolean {
  return violations(schema, JSON.parse(text)).length === 0;
}

function hasErrors(text: string): boolean {
  return parseConfiguration(text).findings.some(({ severity }) => severity === "error");
}

test("[TS-D-FILE-7] describes every field with its JSON type, in the entries it applies to", () => {
  for (const name of fieldNames) {
    const { appliesTo, json } = fieldTable[name];
    for (const kind of ["network", "stdio"] as const) {
      const property = schema.definitions[kind].properties[name];
      if (appliesTo !== "both" && appliesTo !== kind) expect(property, `${kind} ${name}`).toBeUndefined();
      else {
        expect(property, `${kind} ${name}`).toMatchObject({
          type: json.split(" ")[0],
          description: expect.any(String),
        });
      }
    }
  }
  const types = ["network", "stdio"].flatMap((kind) => schema.definitions[kind].properties.type.enum);
  expect(types).toEqual(expect.arrayContaining([...entryTypes]));
});

test.each([...examples])("[TS-D-FILE-7] accepts the example %s, as the parser does", (_, text) => {
  expect(violations(schema, JSON.parse(text))).toEqual([]);
  expect(hasErrors(text)).toBe(false);
});

test.each([
  [{ command: "x", url: "https://a.example.com" }],
  [{}],
  [{ type: "stdio", url: "https://a.example.com" }],
  [{ type: "http", command: "x" }],
  [{ type: "http", url: "http://a.example.com" }],
  [{ type: "http", url: "http://localhost.example.com" }],
  [{ type: "http", url: "a.example.com" }],
  [networkEntry({ headers: { A: 1 } })],
  [networkEntry({ headers: { "a b": "x" } })],
  [networkEntry({ headers: { "X-A": "a\nb" } })],
  [networkEntry({ headers: { Authorization: "${TOKEN}" } })],
  [networkEntry({ headersHelper: "" })],
  [networkEntry({ oauth: "x" })],
  [networkEntry({ oauth: { clientId: 1 } })],
  [networkEntry({ oauth: { callbackPort: 0 } })],
  [networkEntry({ oauth: { callbackHost: "0.0.0.0" } })],
  [networkEntry({ oauth: { clientMetadataUrl: "http://a.example.com/client.json" } })],
  [networkEntry({ oauth: { scopes: [1] } })],
  [networkEntry({ oauth: { authorizeParameters: { "a b": "x" } } })],
  [networkEntry({ oauth: { assumePkce: "yes" } })],
  [{ command: "x", args: "y" }],
  [{ command: "x", args: [1] }],
  [{ command: "x", env: { A: 1 } }],
  ["x"],
])("[TS-D-FILE-7] rejects structures that the parser rejects: %j", (entry) => {
  expect(isAccepted(withEntry(entry))).toBe(false);
  expect(hasErrors(withEntry(entry))).toBe(true);
});

test("[TS-D-FILE-7] accepts everything that the parser accepts without errors", () => {
  const text = fc.constantFrom("", "x", "a b", "${A}", "Bearer ${A}", "a\nb", "https://a.example.com", "./x", "\u2603");
  const url = fc.constantFrom(
    ...[
      "https://a.example.com",
      "wss://${T}.example.com/x",
      "http://localhost:1/x",
      "ws://[::1]",
      "http://127.0.0.1",
      "x",
      "HTTPS://a",
      "${API_URL}/mcp",
      "${SCHEME}://a.example.com",
      "http://${API_HOST}/mcp",
      "http${S}://a.example.com",
    ],
  );
  const names = fc.constantFrom("Authorization", "authorization", "X-A", "a b", "A");
  const entry = fc.record(
    {
      type: fc.constantFrom("http", "sse", "ws", "stdio", "streamable-http", "streamableHttp", "other"),
      url,
      headers: fc.dictionary(names, text, { maxKeys: 2 }),
      headersHelper: text,
      oauth: fc.record(
        {
          clientId: text,
          clientSecret: text,
          scopes: fc.oneof(text, fc.array(text, { maxLength: 2 })),
          callbackPort: fc.constantFrom(0, 80, 1.5),
          callbackHost: fc.constantFrom("localhost", "127.0.0.1", "${A}", "x"),
          authorizeParameters: fc.dictionary(fc.constantFrom("audience", "state", "a b"), text, { maxKeys: 2 }),
          resource: fc.oneof(text, fc.boolean()),
          clientMetadataUrl: url,
          other: text,
        },
        { requiredKeys: [] },
      ),
      command: text,
      args: fc.array(text, { maxLength: 2 }),
      env: fc.dictionary(names, text, { maxKeys: 2 }),
      sandbox: fc.boolean(),
      cwd: text,
      timeout: fc.constantFrom(1, 60_000),
      disabled: fc.boolean(),
      includeTools: fc.array(text, { maxLength: 2 }),
      wibble: text,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(entry, fc.boolean(), (value, isWrapped) => {
      const file = JSON.stringify(isWrapped ? { mcpServers: { s: value } } : { s: value });
      if (!hasErrors(file)) expect(violations(schema, JSON.parse(file))).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
