import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Bundles a helper in TypeScript into one file in a folder, so that Node can run it as a separate process; returns its path. */
export async function bundleProgram(source: URL, folder: string): Promise<string> {
  const outfile = join(folder, "worker.mjs");
  await build({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    outfile,
  });
  return outfile;
}
