import { mkdir, rename, symlink } from "node:fs/promises";
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

test("[TS-D-TRUST-3] covers the parent folder of the root if an argument names it", async () => {
  const { path, write } = await createFolder();
  await mkdir(join(path, "plugin"));
  const file = await write("index.js", "1");
  expect(await filesOf({ command: "node", args: [".."] }, join(path, "plugin"))).toEqual([file]);
});

test("arguments after the script, and those of other programs, are not scripts", async () => {
  const { path, write } = await createFolder();
  await write("server.js", "1");
  await write("package.json", "{}");
  await write("debug.js", "1");
  const args = ["server.js", ".", "debug"];
  expect(await filesOf({ command: "node", args }, path)).toEqual(["server.js"]);
  expect(await filesOf({ command: "acme-server", args: [".", "debug"] }, path)).toEqual([]);
  // An option may have a value, so the script may follow.
  expect(await filesOf({ command: "node", args: ["--title", "server.js", "debug"] }, path)).toContain("debug.js");
  expect(await filesOf({ command: "node", args: ["inspect", "debug"] }, path)).toContain("debug.js");
});

test.each([
  ["npx", "npx -y @acme/server", "package.json"],
  ["npm in a shell", "sh -c npm", "package-lock.json"],
  ["npm behind other programs", "setsid stdbuf -oL npm start", ".npmrc"],
  ["a runner by its path", "/usr/bin/npm start", "package.json"],
  ["pnpm", "pnpm dlx @acme/server", "pnpm-workspace.yaml"],
  ["yarn", "yarn dlx @acme/server", ".yarnrc.yml"],
  ["deno", "deno run -A npm:@acme/server", "deno.json"],
  ["uv", "uv run acme-server", ".venv/bin/acme-server"],
  ["uvx", "uvx acme-server", ".python-version"],
  ["pipx", "pipx run acme-server", "__pypackages__/3.12/lib/bin/acme-server"],
  ["make", "make serve", "Makefile"],
  ["cargo", "cargo run", ".cargo/config.toml"],
  ["docker compose", "docker compose run server", "compose.yaml"],
])("[TS-D-TRUST-3] covers the manifests of %s in the working directory and above it", async (_, line, file) => {
  const { path, write } = await createFolder();
  await mkdir(join(path, "plugin"));
  const [command, ...args] = line.split(" ");
  const pathsOf = async (): Promise<string[]> => {
    const { files } = await fingerprintEntry(entryOf({ command, args }), { pluginRoot: join(path, "plugin") });
    return files.map((each) => each.path);
  };
  expect(await pathsOf()).toEqual([]);
  await write(file, "1");
  // Of what is installed, only the existence is covered.
  const shown = /^(?:\.venv|__pypackages__)/.exec(file)?.[0] ?? file;
  expect(await pathsOf()).toEqual([`../${shown}`]);
  await write(`plugin/${file}`, "1");
  expect(await pathsOf()).toEqual([`../${shown}`, shown]);
});

test("[TS-D-TRUST-3] covers manifests by paths that do not depend on the location of the repository", async () => {
  const { path, write } = await createFolder();
  const root = join(path, "repository", "plugin");
  await mkdir(root, { recursive: true });
  await write("repository/package.json", "{}");
  const entry = entryOf({ command: "npx", args: ["-y", "@acme/server"] });
  const before = await fingerprintEntry(entry, { pluginRoot: root });
  expect(before.files).toHaveLength(1);
  await symlink(root, join(path, "link"));
  expect(await fingerprintEntry(entry, { pluginRoot: join(path, "link") })).toEqual(before);
  await rename(join(path, "repository"), join(path, "elsewhere"));
  expect(await fingerprintEntry(entry, { pluginRoot: join(path, "elsewhere/plugin") })).toEqual(before);
});

test("[TS-D-TRUST-3] the manifests of a project do not count for programs that do not read them", async () => {
  const { path, write } = await createFolder();
  for (const file of ["package.json", "pyproject.toml", "Makefile", "compose.yaml"]) await write(file, "{}");
  expect(await filesOf({ command: "docker", args: ["run", "-i", "acme/server"] }, path)).toEqual([]);
  expect(await filesOf({ command: "uvx", args: ["acme-server"] }, path)).toEqual(["pyproject.toml"]);
});
