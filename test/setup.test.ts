import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const setup = fileURLToPath(new URL("../scripts/setup.mjs", import.meta.url));
let checkout: string;

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), "setup-"));
  await mkdir(join(checkout, "scripts"));
  await mkdir(join(checkout, "packages/part"), { recursive: true });
  await cp(setup, join(checkout, "scripts/setup.mjs"));
  await writeManifests("1.0.0");
});

afterEach(async () => {
  await rm(checkout, { recursive: true });
});

/** A workspace with one package and no dependency, so that npm needs no registry. */
async function writeManifests(version: string, locked: string = version, name = "part"): Promise<void> {
  const json = (path: string, value: object): Promise<void> => writeFile(join(checkout, path), JSON.stringify(value));
  const root = { name: "checkout", version: "1.0.0", workspaces: ["packages/*"] };
  await json("package.json", root);
  await json("packages/part/package.json", { name, version });
  await json("package-lock.json", {
    ...{ name: "checkout", version: "1.0.0", lockfileVersion: 3 },
    packages: {
      "": root,
      "packages/part": { name, version: locked },
      [`node_modules/${name}`]: { resolved: "packages/part", link: true },
    },
  });
}

async function install(): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [join(checkout, "scripts/setup.mjs"), "install"]);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

test("installs once, and again when the lock file changes, with nothing on standard output", async () => {
  const first = await install();
  expect(first).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Installing") });
  expect(await install()).toEqual({ code: 0, stdout: "", stderr: "" });
  await writeManifests("1.1.0");
  expect(await install()).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Installing") });
  expect(await install()).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("installs again when the lock file has another name for a package of the checkout", async () => {
  await install();
  await writeManifests("1.0.0", "1.0.0", "renamed");
  expect(await install()).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Installing") });
  expect(await install()).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("installs once for concurrent setups, and the others wait for it", async () => {
  const all = await Promise.all([install(), install(), install()]);
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(all.filter(({ stderr }) => stderr.includes("Installing"))).toHaveLength(1);
  expect((await readdir(checkout)).filter((name) => name.startsWith(".setup"))).toEqual([]);
});

test("does not block after a setup that died", async () => {
  const dead = spawn(process.execPath, ["--version"]);
  await once(dead, "close");
  await writeFile(join(checkout, ".setup.lock"), String(dead.pid));
  expect(await install()).toMatchObject({ code: 0 });
});

test("exits with code 1, the output of npm and advice if the install fails", async () => {
  await writeFile(join(checkout, "package-lock.json"), "{}");
  const { code, stdout, stderr } = await install();
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("npm error");
  expect(stderr).toContain("Check that the npm registry is reachable");
});
