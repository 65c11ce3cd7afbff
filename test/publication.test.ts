import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const { preparePackages, repository } = await import(join(root, "scripts", "publication.mjs"));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-publication-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("published packages name their repository, and the links of their READMEs lead there", () => {
  const folder = temporaryFolder();
  const packages = readdirSync(join(root, "packages")).filter((name) => name !== "ui");
  for (const name of packages) {
    mkdirSync(join(folder, name));
    for (const file of ["package.json", "README.md"]) {
      cpSync(join(root, "packages", name, file), join(folder, name, file));
    }
  }
  const address = "https://github.com/example/wirescope";
  preparePackages(folder, address);
  for (const name of packages) {
    const manifest = JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      repository: { type: "git", url: `git+${address}.git`, directory: `packages/${name}` },
      homepage: `${address}/tree/main/packages/${name}#readme`,
      bugs: `${address}/issues`,
    });
    const links = [...readFileSync(join(folder, name, "README.md"), "utf8").matchAll(/\]\(([^)#]+)[^)]*\)/g)];
    for (const [, link = ""] of links) {
      expect(link).toMatch(/^https:/);
      const [, path] = link.split(`${address}/blob/main/`);
      if (path !== undefined) expect(statSync(join(root, path)), path).toBeDefined();
    }
  }
});

test("packages without an address are not published, and the reason names the file to change", () => {
  expect(() => preparePackages(temporaryFolder(), "")).toThrow("scripts/publication.mjs");
  const release = readFileSync(join(root, ".github", "workflows", "release.yml"), "utf8");
  expect(release.indexOf("node scripts/publication.mjs")).toBeGreaterThan(0);
  expect(release.indexOf("node scripts/publication.mjs")).toBeLessThan(release.indexOf("npm publish"));
  expect(repository === "" || repository.startsWith("https://")).toBe(true);
});

test("the commands of deploy/README.md create the secrets that compose mounts", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "deploy"));
  const readme = readFileSync(join(root, "deploy", "README.md"), "utf8");
  const [, commands = ""] = /```\n(mkdir -p deploy\/secrets\n[^`]*)```/.exec(readme) ?? [];
  execFileSync("sh", ["-ec", commands.replace(/^chown .*\n/m, "")], { cwd: folder, stdio: "pipe" });
  const compose = readFileSync(join(root, "deploy", "compose.yaml"), "utf8");
  const mounted = [...compose.matchAll(/file: \.\/(secrets\/\S+)/g)].map(([, file = ""]) => file);
  expect(mounted).toHaveLength(4);
  for (const file of mounted) expect(statSync(join(folder, "deploy", file)).mode & 0o077, file).toBe(0);
});
