import { mkdir, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fingerprintEntry } from "../trust/fingerprint-entry.js";
import { createFolder, entryOf } from "../trust/trust.test.helper.js";

const npx = { command: "npx", args: ["-y", "@acme/server"] };

async function filesOf(entry: unknown, pluginRoot: string): Promise<string[]> {
  const { files } = await fingerprintEntry(entryOf(entry), { pluginRoot });
  return files.map(({ path, state }) => (path === "" ? state : path));
}

function manifest(content: object): string {
  return JSON.stringify({ name: "@acme/server", version: "1.0.0", ...content });
}

test("[TS-D-TRUST-3] covers a package that npx prefers to the published one, whatever its program is called", async () => {
  const { path, write } = await createFolder();
  expect(await filesOf(npx, path)).toEqual([]);
  await write("node_modules/@acme/server/package.json", manifest({ bin: { "acme-tickets": "run.sh" } }));
  await write("node_modules/@acme/server/run.sh", "1");
  await symlink(
    "../@acme/server/run.sh",
    await write("node_modules/.bin/x", "").then((x) => x.replace(/x$/, "acme-tickets")),
  );
  expect(await filesOf(npx, path)).toEqual([
    "node_modules/.bin/acme-tickets",
    "node_modules/@acme/server/package.json",
    "node_modules/@acme/server/run.sh",
  ]);
});

test.each([
  ["another folder", "node_modules/harmless/package.json"],
  ["a nested folder", "node_modules/harmless/node_modules/other/package.json"],
  ["a workspace", "packages/harmless/package.json"],
])("[TS-D-TRUST-3] covers a package that npx finds by its name in %s", async (_, file) => {
  const { path, write } = await createFolder();
  await write("package.json", JSON.stringify({ name: "root", workspaces: ["packages/*"] }));
  await write("node_modules/harmless/package.json", JSON.stringify({ name: "harmless" }));
  await write("node_modules/.bin/tool", "1");
  expect(await filesOf(npx, path)).toEqual([]);
  await write(file, manifest({ bin: { tool: "tool.sh" } }));
  expect(await filesOf(npx, path)).toEqual(["node_modules/.bin/tool", file]);
});

test("[TS-D-TRUST-3] covers a package that only npm's list of installed packages names", async () => {
  const { path, write } = await createFolder();
  const list = { packages: { "node_modules/harmless": { name: "@acme/server", bin: { tool: "tool.sh" } } } };
  await write("node_modules/.package-lock.json", JSON.stringify(list));
  await write("node_modules/.bin/tool", "1");
  expect(await filesOf(npx, path)).toEqual(["node_modules/.bin/tool", "node_modules/.package-lock.json"]);
});

test("[TS-D-TRUST-3] covers the programs that the project itself declares", async () => {
  const { path, write } = await createFolder();
  await write("package.json", JSON.stringify({ name: "root", bin: { server: "./run.js" } }));
  await write("run.js", "1");
  expect(await filesOf({ command: "npx", args: ["server"] }, path)).toEqual(["package.json", "run.js"]);
});

test("[TS-D-TRUST-3] covers parent folders, by paths that do not depend on the location of the repository", async () => {
  const { path, write } = await createFolder();
  await mkdir(join(path, "repository", "plugin"), { recursive: true });
  const root = join(path, "repository", "plugin");
  await write("repository/.npmrc", "registry=https://registry.example");
  expect(await filesOf(npx, root)).toEqual([]);
  await write("repository/package.json", "{}");
  await write("repository/node_modules/.bin/server", "1");
  expect(await filesOf(npx, root)).toEqual(["../.npmrc", "../node_modules/.bin/server"]);
  const before = await fingerprintEntry(entryOf(npx), { pluginRoot: root });
  await symlink(root, join(path, "link"));
  expect(await fingerprintEntry(entryOf(npx), { pluginRoot: join(path, "link") })).toEqual(before);
  await rename(join(path, "repository"), join(path, "elsewhere"));
  expect(await fingerprintEntry(entryOf(npx), { pluginRoot: join(path, "elsewhere/plugin") })).toEqual(before);
});

test("an ordinary project does not change what npx runs, so its files are not covered", async () => {
  const { path, write } = await createFolder();
  await write("package.json", JSON.stringify({ name: "app", bin: { app: "app.js" }, scripts: { start: "x" } }));
  await write("node_modules/other/package.json", JSON.stringify({ name: "other", bin: { other: "x.js" } }));
  await write("node_modules/.package-lock.json", JSON.stringify({ packages: { "node_modules/other": {} } }));
  await write("node_modules/.bin/other", "1");
  await write(".yarnrc.yml", "nodeLinker: node-modules");
  expect(await filesOf(npx, path)).toEqual([]);
});

test.each([
  ["npm exec", { command: "npm", args: ["exec", "@acme/server"] }, "node_modules/x/package.json"],
  ["a shell", { command: "sh", args: ["-c", "exec npx -y @acme/server"] }, "node_modules/x/package.json"],
  ["an alias", { command: "npx", args: ["tool@npm:@acme/server@1"] }, "node_modules/x/package.json"],
  ["an option", { command: "npx", args: ["--package=@acme/server", "tool"] }, "node_modules/x/package.json"],
  ["a default", { command: "npx", args: ["${PACKAGE:-@acme/server}"] }, "node_modules/x/package.json"],
  ["bunx", { command: "bunx", args: ["@acme/server"] }, "node_modules/@acme/server/package.json"],
  ["pnpm dlx", { command: "pnpm", args: ["dlx", "@acme/server"] }, "pnpm-workspace.yaml"],
  ["yarn dlx", { command: "yarn", args: ["dlx", "@acme/server"] }, ".yarnrc.yml"],
  ["deno", { command: "deno", args: ["run", "-A", "npm:@acme/server"] }, "deno.json"],
  ["uvx", { command: "uvx", args: ["acme-server"] }, ".python-version"],
  ["uv run", { command: "uv", args: ["run", "acme-server"] }, ".venv/bin/acme-server"],
  ["pipx run", { command: "pipx", args: ["run", "acme-server"] }, "__pypackages__/3.12/lib/bin/acme-server"],
])("[TS-D-TRUST-3] covers the files in a parent folder that decide what %s runs", async (_, entry, file) => {
  const { path, write } = await createFolder();
  await mkdir(join(path, "plugin"));
  expect(await filesOf(entry, join(path, "plugin"))).toEqual([]);
  await write(file, manifest({}));
  expect(await filesOf(entry, join(path, "plugin"))).toEqual([`../${file}`]);
});

test("[TS-D-TRUST-3] covers the files that settings of a runner name", async () => {
  const { path, write } = await createFolder();
  await write(".yarnrc.yml", "yarnPath: .yarn/releases/yarn-4.cjs\n");
  await write(".yarn/releases/yarn-4.cjs", "1");
  await write(".npmrc", "script-shell=./sh\n");
  await write("sh", "1");
  const yarn = { command: "yarn", args: ["dlx", "@acme/server"] };
  expect(await filesOf(yarn, path)).toEqual([".npmrc", ".yarn/releases/yarn-4.cjs", ".yarnrc.yml", "sh"]);
  expect(await filesOf(npx, path)).toEqual([".npmrc", "sh"]);
});

test("[TS-D-TRUST-3] a runner whose package a variable decides, or with too much to read, has no complete fingerprint", async () => {
  const { path, write } = await createFolder();
  expect(await filesOf({ command: "npx", args: ["-y", "${PACKAGE}"] }, path)).toEqual(["variable"]);
  expect(await filesOf({ command: "npx", args: ["-y", "@acme/server", "--token", "${TOKEN}"] }, path)).toEqual([]);
  const bin = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`p${index}`, "x.js"]));
  await write("node_modules/x/package.json", manifest({ bin }));
  expect(await filesOf(npx, path)).toEqual(["too-many", "node_modules/x/package.json"]);
});
