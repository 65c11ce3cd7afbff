import { createHash, randomUUID } from "node:crypto";
import { access, mkdir, readFile, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

// A folder in which Node finds the dependencies of the workspace, and that git ignores.
const folder = fileURLToPath(new URL("../../node_modules/.cache/wirescope-test-programs", import.meta.url));

/**
 * Compiles a TypeScript helper to a file that Node can run as a separate process. It may import dependencies and Node, but no
 * siblings. With `bundles`, the file contains its dependencies: it starts in half the time, but cannot be instrumented.
 */
export async function programOf(source: URL, { bundles = false }: { bundles?: boolean } = {}): Promise<string> {
  const text = await readFile(source, "utf8");
  const hash = createHash("sha256").update(`${bundles}${text}`).digest("hex").slice(0, 16);
  const path = join(folder, `${basename(source.pathname, ".test.helper.ts")}-${hash}.mjs`);
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  if (exists) return path;
  const { build } = await import("esbuild");
  await mkdir(folder, { recursive: true });
  // Another test may do the same now.
  const draft = `${path}.${randomUUID()}`;
  await build({
    entryPoints: [fileURLToPath(source)],
    outfile: draft,
    bundle: bundles,
    platform: "node",
    target: "node20",
    format: "esm",
    // CommonJS dependencies call require.
    banner: { js: 'const require = (await import("node:module")).createRequire(import.meta.url);' },
  });
  await rename(draft, path);
  return path;
}
