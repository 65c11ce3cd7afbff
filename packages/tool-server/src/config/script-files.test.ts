import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fingerprintEntry } from "../trust/fingerprint-entry.js";
import { createFolder, entryOf } from "../trust/trust.test.helper.js";

async function filesOf(entry: unknown, pluginRoot: string): Promise<string[]> {
  const { files } = await fingerprintEntry(entryOf(entry), { pluginRoot });
  return files.filter(({ state }) => state === "content").map(({ path }) => path);
}

test.each([
  ["a name without its extension", { command: "node", args: ["server"] }, "server.js"],
  ["a path without its extension", { command: "node", args: ["./server"] }, "server.json"],
  [
    "a path from the root without its extension",
    { command: "node", args: ["${HOST_PLUGIN_ROOT}/server"] },
    "server.js",
  ],
  ["a script after flags", { command: "node", args: ["--enable-source-maps", "server"] }, "server.node"],
  ["the value of an option", { command: "node", args: ["-r", "./hook", "/opt/server.js"] }, "hook.js"],
  ["an option in a variable", { command: "node", env: { NODE_OPTIONS: "--require ./hook" } }, "hook.js"],
  ["a script of tsx", { command: "npx", args: ["tsx", "watch", "server"] }, "server.ts"],
  ["a script in a shell", { command: "sh", args: ["-c", "exec node server"] }, "server.js"],
  ["the working directory", { command: "node", args: ["."] }, "index.js"],
  ["the root", { command: "node", args: ["${HOST_PLUGIN_ROOT}"] }, "index.js"],
  ["a folder", { command: "node", args: ["dist"] }, "dist/index.js"],
  ["a folder of bun", { command: "bun", args: ["run", "dist"] }, "dist/index.tsx"],
  ["a folder of Python", { command: "python3", args: ["app"] }, "app/__main__.py"],
  ["a module", { command: "python3", args: ["-m", "app.server"] }, "app/server.py"],
  ["a module with other options", { command: "python3", args: ["-um", "app.server"] }, "app/server/__main__.py"],
  ["the package of a module", { command: "python3", args: ["-mapp.server"] }, "app/__init__.py"],
  ["a module of uv", { command: "uv", args: ["run", "python", "-m", "app"] }, "app/__main__.py"],
  [
    "a module in PYTHONPATH",
    { command: "python3", args: ["-m", "app"], env: { PYTHONPATH: "${HOST_PLUGIN_ROOT}/src" } },
    "src/app/__init__.py",
  ],
])("[TS-D-TRUST-3] covers the file that runs for %s", async (_, entry, file) => {
  const { path, write } = await createFolder();
  const digest = async (): Promise<string> => (await fingerprintEntry(entryOf(entry), { pluginRoot: path })).digest;
  const missing = await digest();
  await write(file, "1");
  expect(await filesOf(entry, path)).toEqual([file]);
  const before = await digest();
  await write(file, "2");
  expect(new Set([missing, before, await digest()]).size).toBe(3);
});

test("[TS-D-TRUST-3] covers the main file that the package.json of a folder names", async () => {
  const { path, write } = await createFolder();
  await write("tool/package.json", JSON.stringify({ main: "lib/start" }));
  await write("tool/lib/start.js", "1");
  await write("tool/other.js", "1");
  const expected = ["tool/lib/start.js", "tool/package.json"];
  expect(await filesOf({ command: "node", args: ["tool"] }, path)).toEqual(expected);
});

test("[TS-D-TRUST-3] covers the package in a folder that npx runs", async () => {
  const { path, write } = await createFolder();
  await write("tool/package.json", JSON.stringify({ name: "tool", bin: "run.js" }));
  await write("tool/run.js", "1");
  expect(await filesOf({ command: "npx", args: ["-y", "./tool"] }, path)).toEqual(["tool/package.json", "tool/run.js"]);
});

test("[TS-D-TRUST-3] covers the parent folder of the root if an argument names it", async () => {
  const { path, write } = await createFolder();
  await mkdir(join(path, "plugin"));
  const file = await write("index.js", "1");
  expect(await filesOf({ command: "node", args: [".."] }, join(path, "plugin"))).toEqual([file]);
});

test("[TS-D-TRUST-3] a module that a variable names has no complete fingerprint", async () => {
  const { path } = await createFolder();
  const entry = entryOf({ command: "python3", args: ["-m", "${MODULE}"] });
  expect(await fingerprintEntry(entry, { pluginRoot: path })).toMatchObject({
    isComplete: false,
    files: [{ field: "args[1]", state: "variable" }],
  });
});

test("arguments after the script, and those of other programs, are not scripts", async () => {
  const { path, write } = await createFolder();
  await write("server.js", "1");
  await write("package.json", "{}");
  await write("debug.js", "1");
  const args = ["--enable-source-maps", "server.js", ".", "debug"];
  expect(await filesOf({ command: "node", args }, path)).toEqual(["server.js"]);
  expect(await filesOf({ command: "acme-server", args: [".", "debug"] }, path)).toEqual([]);
  // An option may have a value, and node has its own subcommand, so the script may follow.
  expect(await filesOf({ command: "node", args: ["--title", "server.js", "debug"] }, path)).toContain("debug.js");
  await write("inspect.js", "1");
  expect(await filesOf({ command: "node", args: ["inspect", "debug"] }, path)).toContain("debug.js");
});
