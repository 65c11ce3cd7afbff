import { expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import type { Entry } from "./entry.js";
import { type Configuration, parseConfiguration } from "./parse-configuration.js";
import { substituteEntry } from "./substitute-entry.js";
import { usesOAuth } from "./variable-uses.js";

const url = "https://notes.example/mcp";
const op = ["op", "read", "op://vault/item/field"];

function parse(entry: object): Configuration & { readonly entry: Entry | undefined } {
  const configuration = parseConfiguration(JSON.stringify({ mcpServers: { notes: entry } }, null, 1));
  return { ...configuration, entry: configuration.entries[0] };
}

test("[TS-D-SECRET-6] parses the commands of headers, env and the client secret without findings", () => {
  const network = {
    type: "http",
    url,
    headers: { Authorization: { command: op, prefix: "Bearer ", timeout: 500, ttl: 1000 }, "X-Region": "eu" },
  };
  const { entry, findings } = parse(network);
  expect(findings).toEqual([]);
  expect(entry?.secretCommands).toMatchObject([
    {
      target: "header",
      name: "Authorization",
      field: "headers.Authorization",
      prefix: "Bearer ",
      timeoutMs: 500,
      ttlMs: 1000,
    },
  ]);
  expect(entry !== undefined && usesOAuth(entry)).toBe(false);
  const oauth = parse({ type: "http", url, oauth: { clientId: "us", clientSecret: { command: op } } });
  expect(oauth.findings).toEqual([]);
  expect(oauth.entry).toMatchObject({ oauth: { clientId: {} }, secretCommands: [{ target: "clientSecret" }] });
  expect(oauth.entry !== undefined && usesOAuth(oauth.entry)).toBe(true);
  const stdio = parse({ command: "server", env: { TOKEN: { command: op }, MODE: "fast" } });
  expect(stdio.findings).toEqual([]);
  expect(stdio.entry).toMatchObject({ env: [{ name: "MODE" }], secretCommands: [{ target: "env", name: "TOKEN" }] });
});

test.each([
  [{ headers: { "X-Key": {} } }, "field-missing", "headers.X-Key is an object without command."],
  [
    { headers: { "X-Key": { command: "op read x" } } },
    "field-type",
    "headers.X-Key.command must be a list of the program and its arguments, all strings, but is a string.",
  ],
  [{ headers: { "X-Key": { command: [] } } }, "field-type", "headers.X-Key.command must be a list"],
  [{ headers: { "X-Key": { command: [" "] } } }, "field-type", "headers.X-Key.command must be a list"],
  [{ headers: { "X-Key": { command: ["op", 1] } } }, "field-type", "headers.X-Key.command must be a list"],
  [{ headers: { "X-Key": { command: ["op", "\0"] } } }, "field-type", "headers.X-Key.command must be a list"],
  [{ headers: { "X-Key": { command: Array(65).fill("a") } } }, "field-type", "headers.X-Key.command must be a list"],
  [{ headers: { "X-Key": { command: op, prefix: "a\nb" } } }, "field-type", "headers.X-Key.prefix must be a string"],
  [{ headers: { "X-Key": { command: op, prefix: "${A}" } } }, "field-type", "headers.X-Key.prefix must be a string"],
  [
    { headers: { "X-Key": { command: op, ttl: "1 h" } } },
    "field-type",
    "headers.X-Key.ttl must be a number, but is a string.",
  ],
  [{ headers: { "X-Key": { command: op, shell: true } } }, "field-unknown", "headers.X-Key.shell has no effect."],
  [{ headers: { Authorization: { command: op, prefix: "Bearer" } } }, "authorization-scheme", "Bearer must come first"],
  [{ headers: { "X-Key": "a", "x-key": { command: op } } }, "header-duplicate", "x-key is the same header as X-Key"],
  [{ headers: { "X Key": { command: op } } }, "header-name", '"X Key" is not a valid header name.'],
  [{ oauth: { clientSecret: { command: op } } }, "oauth-setting", "oauth.clientSecret requires clientId."],
  [
    { oauth: { clientId: "a", clientSecret: { command: op, ttl: 5 } } },
    "field-unknown",
    "oauth.clientSecret.ttl has no effect.",
  ],
  [
    { headers: { "X-Key": { command: ["curl", "--token", "hunter2-and-more"] } } },
    "literal-secret",
    "command[2] of headers.X-Key contains the value of --token.",
  ],
])("[TS-D-SECRET-6] reports %j as %s, at its line", (fields, code, message) => {
  const { findings } = parse({ type: "http", url, ...fields });
  const finding = findings.find((each) => each.code === code);
  expect(finding?.message).toContain(message);
  expect(finding?.line).toBeGreaterThan(5);
});

test("[TS-D-SECRET-7] replaces variables and the plugin root in the arguments of a command", () => {
  const command = ["${HOST_PLUGIN_ROOT}/bin/op", "read", "op://${VAULT}/item", "--token=${OP_TOKEN}"];
  const { entry, findings } = parse({ command: "server", env: { TOKEN: { command } } });
  expect(findings).toEqual([]);
  if (entry === undefined) throw new Error("No entry");
  const secrets = createSecretRegistry();
  const variables = { VAULT: "team", OP_TOKEN: "token-of-the-manager" };
  const substituted = substituteEntry(entry, { variables, pluginRoot: "/plugin", secrets });
  expect(substituted.entry?.secretCommands[0]?.command).toEqual([
    "/plugin/bin/op",
    "read",
    "op://team/item",
    "--token=token-of-the-manager",
  ]);
  expect(secrets.redact("token-of-the-manager")).toBe("[redacted]");
  const unset = substituteEntry(entry, { variables: {}, pluginRoot: "/plugin", secrets });
  expect(unset.findings[0]?.message).toBe("VAULT is not set, but command[2] of env.TOKEN needs it.");
});
