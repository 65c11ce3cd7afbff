import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));

/** The Markdown files of the repository. */
async function pages(): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["docs", "packages", "examples", "deploy"]) {
    for (const file of await readdir(join(root, folder), { recursive: true })) {
      if (file.endsWith(".md") && !/(^|\/)(node_modules|fixtures|testdata|dist)\//.test(file))
        found.push(join(folder, file));
    }
  }
  return [...found, ...(await readdir(root)).filter((file) => file.endsWith(".md"))].sort();
}

/** The anchors of a page as GitHub derives them from its headings. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replace(/^```.*?^```/gms, "").matchAll(/^#{1,6} +(.+)$/gm);
  return new Set(
    Array.from(headings, ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("every relative link in the documentation points to a file and a heading that exist", async () => {
  const broken: string[] = [];
  for (const page of await pages()) {
    const text = await readFile(join(root, page), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? join(root, page) : resolve(root, dirname(page), path);
      if (!existsSync(file)) broken.push(`${page}: ${target}`);
      else if (anchor !== undefined && file.endsWith(".md") && !anchorsOf(await readFile(file, "utf8")).has(anchor)) {
        broken.push(`${page}: ${target}: no such heading in ${relative(root, file)}`);
      }
    }
  }
  expect(broken).toEqual([]);
});
