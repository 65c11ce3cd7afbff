import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const page = readFile(join(root, "docs/reference.md"), "utf8");

test("generates docs/reference.md from the option tables, schemas and environment tables", async () => {
  const { referenceText } = await import(join(root, "scripts/reference.mjs"));
  expect(await page).toBe(await referenceText());
});

test("lists every WIRESCOPE_ variable that the sources read in docs/reference.md", async () => {
  const text = await page;
  const files = await readdir(join(root, "packages"), { recursive: true });
  const sources = files.filter((file) => /^[^/]+\/src\/.*(?<!\.test|\.test\.helper)\.ts$/.test(file));
  const names = new Set<string>();
  for (const file of sources) {
    const source = await readFile(join(root, "packages", file), "utf8");
    for (const [, name = ""] of source.matchAll(/\benv\.(WIRESCOPE_[A-Z_]+)/g)) names.add(name);
  }
  expect(names.size).toBeGreaterThan(5);
  expect([...names].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
