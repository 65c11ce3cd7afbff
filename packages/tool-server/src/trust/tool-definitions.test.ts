import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createApprovalStore } from "./approval-store.js";
import { createFolder } from "./trust.test.helper.js";

const key = { configuration: "/project/.mcp.json", server: "shop" };
const asIs = (text: string): string => text;

async function setUp() {
  const { path } = await createFolder();
  const store = createApprovalStore({ path: join(path, "approvals.json") });
  const approve = (entry: string) =>
    store.approve({
      ...key,
      pluginRoot: "/project",
      fingerprint: { digest: `sha256:${entry}`, entry, files: [], isComplete: true },
      entry: {},
    });
  const compare = (...tools: Readonly<Record<string, unknown>>[]) => store.compareTools(key, tools, asIs);
  const folder = join(path, "tool-definitions");
  return { store, approve, compare, folder, files: () => readdirSync(folder).map((name) => join(folder, name)) };
}

test("[TS-D-TRUST-11] stores nothing for an entry without an approval", async () => {
  const { compare, files } = await setUp();
  expect(await compare({ name: "pay", description: "one" })).toEqual([]);
  expect(await compare({ name: "pay", description: "two" })).toEqual([]);
  expect(files).toThrow(/ENOENT/);
});

test("[TS-D-TRUST-11] compares with the first texts until they are accepted, or a new version of the entry is approved", async () => {
  const { store, approve, compare, files } = await setUp();
  await approve("a");
  expect(await compare({ name: "pay", description: "one" })).toEqual([]);
  expect(statSync(files()[0] ?? "").mode & 0o777).toBe(0o600);
  const change = { kind: "tool", tool: "pay", field: "description", before: "one", after: "two" } as const;
  expect(await compare({ name: "pay", description: "two" }, { name: "new" })).toEqual([change]);
  // Another tenant of the same entry has the same tools.
  await approve("a");
  expect(await store.toolChanges(key)).toEqual([change]);
  await store.acceptTools(key, [change]);
  expect(await store.toolChanges(key)).toEqual([]);
  expect(await compare({ name: "pay", description: "two" })).toEqual([]);
  expect(await compare({ name: "pay" })).toEqual([{ ...change, before: "two", after: undefined }]);
  await approve("b");
  expect(await store.toolChanges(key)).toEqual([]);
  // It was shown before, together with the new version.
  await store.acceptTools(key, [change]);
  expect(await compare({ name: "pay", description: "three", inputSchema: { type: "object" } })).toEqual([]);
  await store.revoke(key);
  expect(files()).toEqual([]);
});

test("[TS-D-TRUST-11] a tool may have any name, and a long text is compared by its hash", async () => {
  const { approve, compare } = await setUp();
  await approve("a");
  const long = "x".repeat(100_000);
  const tools = (end: string) => ["__proto__", "constructor"].map((name) => ({ name, description: `${long}${end}` }));
  expect(await compare(...tools("a"))).toEqual([]);
  const changes = await compare(...tools("b"));
  expect(changes.map(({ tool }) => tool)).toEqual(["__proto__", "constructor"]);
  expect(changes[0]?.after).toMatch(/^x{8192}… \(sha256 [0-9a-f]{64}\)$/);
});

test("[TS-D-TRUST-11] a damaged file is an error that names it and what to do, and is kept", async () => {
  const { approve, compare, files, folder } = await setUp();
  mkdirSync(folder);
  await approve("a");
  await compare({ name: "pay", description: "one" });
  const [file = ""] = files();
  for (const text of [
    "{",
    '{"format":"wirescope-tool-definitions","version":2}',
    readFileSync(file, "utf8").replace('"first":[', '"first":[1,'),
  ]) {
    writeFileSync(file, text);
    await expect(compare({ name: "pay", description: "two" })).rejects.toMatchObject({
      code: "APPROVALS_UNREADABLE",
      message: expect.stringContaining(`${file}: it is damaged`),
    });
    expect(readFileSync(file, "utf8")).toBe(text);
  }
});
