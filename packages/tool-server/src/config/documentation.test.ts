import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CheckReport, checkConfiguration } from "./check-configuration.js";
import { type NeededPermissions, permissionsToMarkdown, scopesUndocumented } from "./documentation.js";
import { example } from "./examples.test.helper.js";

/** Checks a configuration in a plugin with this README. */
async function check(text: string, readme?: string): Promise<CheckReport> {
  const pluginRoot = await realpath(await mkdtemp(join(tmpdir(), "wirescope-permissions-")));
  onTestFinished(() => rm(pluginRoot, { recursive: true }));
  if (readme !== undefined) await writeFile(join(pluginRoot, "README.md"), readme);
  return checkConfiguration(text, { pluginRoot, variables: undefined });
}

test("[TS-OAUTH-10] lists permissions for a server that uses OAuth", async () => {
  const { permissions } = await check(example("oauth"));
  const none = { by: "oauth", variables: [], scopes: undefined };
  expect(permissions).toEqual([
    { ...none, server: "calendar" },
    { ...none, server: "mail" },
  ]);
});

test.each([
  ["bearer", "variables"],
  ["stdio-env", "variables"],
  ["helper", "helper"],
] as const)("[TS-SEC-8] lists permissions for a server whose entry contains secrets: %s", async (name, by) => {
  const { permissions } = await check(example(name));
  expect(permissions).toMatchObject([{ by }]);
});

test("lists no permissions for an entry without credentials and OAuth", async () => {
  const { permissions } = await check(JSON.stringify({ a: { command: "node", env: { MODE: "${MODE}" } } }), "None.");
  expect(permissions).toEqual([]);
});

test("[TS-OAUTH-10, TS-SEC-8] adds one note if the README does not mention permissions", async () => {
  const text = JSON.stringify({
    notes: { type: "http", url: "https://notes.example.com/mcp" },
    crm: { type: "http", url: "https://crm.example.com/mcp", headers: { "X-API-Key": "${CRM_KEY}" } },
  });
  const codes = async (readme?: string): Promise<string[]> =>
    (await check(text, readme)).findings.map(({ code, severity, message }) => `${severity} ${code}: ${message}`);
  expect(await codes("Set CRM_KEY.")).toEqual([
    'note permissions-undocumented: Neither the README nor the docs list the permissions that "notes", "crm" needs.',
  ]);
  expect(await codes("Set CRM_KEY. Its scopes: read.")).toEqual([]);
  expect(await codes()).toEqual([expect.stringMatching(/^warning readme-missing: /)]);
});

const needed = (more: Partial<NeededPermissions>): NeededPermissions => ({
  server: "notes",
  by: "oauth",
  variables: [],
  scopes: undefined,
  ...more,
});

test("formats a valid table, whatever it contains", () => {
  const permissions = [
    needed({ scopes: ["notes:read", "a|b`c"] }),
    needed({ server: "x | y\n", by: "variables", variables: ["A", "B"] }),
    needed({ server: "h", by: "helper" }),
  ];
  expect(permissionsToMarkdown(permissions)).toEqual([
    "| Server  | Signs in      | Permissions            |",
    "| ------- | ------------- | ---------------------- |",
    "| notes   | by OAuth      | `notes:read`, `a\\|b'c` |",
    "| x \\| y  | with `A`, `B` | …                      |",
    "| h       | by a helper   | …                      |",
  ]);
});

test("counts a permission as documented only if it is a separate word", () => {
  const read = needed({ scopes: ["notes:read", "https://example.com/auth/notes.read", "a.b"] });
  expect(scopesUndocumented(read, "Ask for `notes:read`, https://example.com/auth/notes.read and a.b.")).toEqual([]);
  expect(
    scopesUndocumented(read, "notes:readwrite my-notes:read https://example.com/auth/notes.readonly a.b.c a-b"),
  ).toEqual(["notes:read", "https://example.com/auth/notes.read", "a.b"]);
});
