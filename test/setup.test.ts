import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const scripts = fileURLToPath(new URL("../scripts", import.meta.url));
let checkout: string;

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), "setup-"));
  await mkdir(join(checkout, "packages/part"), { recursive: true });
  await cp(scripts, join(checkout, "scripts"), { recursive: true });
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
  const child = spawn(process.execPath, [join(checkout, "scripts/run.mjs"), "install"]);
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

/** Leaves the lock of a setup that died. */
async function leaveLock(): Promise<void> {
  const dead = spawn(process.execPath, ["--version"]);
  await once(dead, "close");
  await writeFile(join(checkout, ".setup.lock"), String(dead.pid));
}

test("installs once for concurrent setups, and again when the lock file changes, with nothing on standard output", async () => {
  const installed = { code: 0, stdout: "", stderr: expect.stringContaining("Installing") };
  const upToDate = { code: 0, stdout: "", stderr: "" };
  const all = await Promise.all([install(), install(), install()]);
  expect(all.map(({ code, stdout }) => [code, stdout])).toEqual([
    [0, ""],
    [0, ""],
    [0, ""],
  ]);
  expect(all.filter(({ stderr }) => stderr.includes("Installing"))).toHaveLength(1);
  expect((await readdir(checkout)).filter((name) => name.startsWith(".setup"))).toEqual([]);
  expect(await install()).toEqual(upToDate);
  await writeManifests("1.1.0");
  // A setup that died does not block it.
  await leaveLock();
  expect(await install()).toEqual(installed);
  // Another name for a package of the checkout.
  await writeManifests("1.1.0", "1.1.0", "renamed");
  expect(await install()).toEqual(installed);
  expect(await install()).toEqual(upToDate);
});

test("exits with code 1, the output of npm and advice if the install fails", async () => {
  await writeFile(join(checkout, "package-lock.json"), "{}");
  const { code, stdout, stderr } = await install();
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("npm error");
  expect(stderr).toContain("Check that the npm registry is reachable");
});
