import { createHash, randomUUID } from "node:crypto";
import { access, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

// Where the dependencies of the workspace are found, and git does not look.
const folder = fileURLToPath(new URL("../../node_modules/.cache/wirescope-test-programs", import.meta.url));

/** A helper in TypeScript as a file that Node runs as a process of its own. It may import dependencies and Node, no siblings. */
export async function programOf(source: URL): Promise<string> {
  const text = await readFile(source, "utf8");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const path = join(folder, `${basename(source.pathname, ".test.helper.ts")}-${hash}.mjs`);
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere) return path;
  const { transformWithEsbuild } = await import("vite");
  const { code } = await transformWithEsbuild(text, fileURLToPath(source), { target: "node20", sourcemap: false });
  await mkdir(folder, { recursive: true });
  // Others may do the same at this moment.
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, code);
  await rename(draft, path);
  return path;
}
