// Builds the page (packages/ui) into packages/cli/page, which is published with the command: files with a hash in their name, each
// compressed beforehand, and no script or style inside index.html, because the CSP of the page allows none.
//
// Called by scripts/setup.mjs.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { ensureUpToDate, root } from "./up-to-date.mjs";

const source = join(root, "packages", "ui");

/** Builds the page, unless it is up to date. The dependencies must be installed; nothing has to be compiled before. */
export async function ensurePageBuilt() {
  await ensureUpToDate(join(root, "packages", "cli", "page"), "Building the page", async (folder) => {
    const { build } = await import("vite");
    const inputs = new Set(["package-lock.json", "scripts/page.mjs", ...filesIn(join(source, "public"))]);
    const { NODE_ENV: before } = process.env;
    await build({
      configFile: false,
      root: source,
      logLevel: "warn",
      resolve: { conditions: ["@wirescope/source", "module", "browser", "production"] },
      esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
      plugins: [
        {
          name: "inputs",
          buildEnd() {
            for (const file of this.getWatchFiles()) inputs.add(file);
          },
        },
      ],
      build: {
        outDir: folder,
        emptyOutDir: true,
        target: "es2022",
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
        sourcemap: false,
      },
    });
    // Vite sets it to production, and child processes would inherit that: npm ci would skip the development dependencies.
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
    compress(folder);
    return [...inputs];
  });
}

function compress(folder) {
  for (const path of filesIn(folder).filter((each) => /\.(js|css|html|svg)$/.test(each))) {
    const content = readFileSync(path);
    const size = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    writeFileSync(`${path}.br`, brotliCompressSync(content, { params: size }));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  }
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}
