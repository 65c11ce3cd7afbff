import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

/** Bundles a helper in TypeScript into one file in a folder, so that Node can run it as a separate process; returns its path. */
export async function bundleProgram(source: URL, folder: string): Promise<string> {
  await build({
    configFile: false,
    logLevel: "error",
    build: {
      ssr: fileURLToPath(source),
      outDir: folder,
      target: "node20",
      rollupOptions: { output: { entryFileNames: "worker.mjs" } },
    },
  });
  return join(folder, "worker.mjs");
}
