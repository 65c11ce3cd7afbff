import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Row {
  /** The numbers of the advisories, or a name for those that have none. */
  readonly names: readonly string[];
  readonly files: readonly string[];
}

function readRows(markdown: string): Row[] {
  const [, table = ""] = markdown.split("## What went wrong elsewhere");
  return [...table.matchAll(/^\| (?!advisory|---)(.+?) \|.*\| (.+) \|$/gm)].map(([, names = "", files = ""]) => ({
    names: names.split(", "),
    files: [...files.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file),
  }));
}

const rows = readRows(await readFile(join(root, "SECURITY.md"), "utf8"));

test("every advisory in SECURITY.md is in the title of a test in each file that it names", async () => {
  expect(rows.length).toBeGreaterThan(10);
  const missing: string[] = [];
  for (const { names, files } of rows) {
    expect(files).not.toEqual([]);
    for (const file of files) {
      const text = await readFile(join(root, file), "utf8");
      // As Biome formats a test: the title is on the line of the call, or on the next.
      const titles = text.split("\n").filter((line) => /^\s*((test|describe)\b.*\(|\].*\)\(|["'`])/.test(line));
      for (const name of names) if (!titles.some((title) => title.includes(name))) missing.push(`${name} in ${file}`);
    }
  }
  expect(missing).toEqual([]);
});
