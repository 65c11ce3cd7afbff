// Builds the page (packages/ui) into packages/cli/page, which is published with the command: files with a hash in their name, each
// compressed beforehand, and no script or style inside index.html, because the CSP of the page allows none.
//
// Called by scripts/bundle.mjs. To run it alone: node scripts/page.mjs

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));
const outDir = join(root, "packages", "cli", "page");
const recordName = ".built";
/** The inputs of the build: the sources of the page, and of the packages that it imports. */
const inputs = ["packages/ui", "packages/channelz/src", "packages/gateway/src"];

/** Builds the page, unless it is up to date. The dependencies must be installed; nothing has to be compiled before. */
export async function ensurePageBuilt() {
  const state = stateOf();
  const record = join(outDir, recordName);
  if (existsSync(record) && readFileSync(record, "utf8") === state) return;
  const { build } = await import("vite");
  // Into a temporary folder first, so that a running command keeps its page.
  const aside = `${outDir}.${process.pid}`;
  const { NODE_ENV: before } = process.env;
  await build({
    configFile: false,
    root: join(root, "packages", "ui"),
    logLevel: "warn",
    resolve: { conditions: ["@wirescope/source", "module", "browser", "production"] },
    esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
    build: {
      outDir: aside,
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
  compress(aside);
  writeFileSync(join(aside, recordName), state);
  rmSync(outDir, { recursive: true, force: true });
  try {
    renameSync(aside, outDir);
  } catch {
    // Another process has just written the same page.
    rmSync(aside, { recursive: true, force: true });
  }
}

function compress(folder) {
  for (const path of filesIn(folder).filter((each) => /\.(js|css|html|svg)$/.test(each))) {
    const content = readFileSync(path);
    const size = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    writeFileSync(`${path}.br`, brotliCompressSync(content, { params: size }));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  }
}

/** Changes with the content of the inputs, and with the dependencies. */
function stateOf() {
  const hash = createHash("sha256");
  const files = inputs.flatMap((input) => filesIn(join(root, input)));
  for (const file of [...files, join(root, "package-lock.json"), fileURLToPath(import.meta.url)]) {
    if (/\.test(\.helper)?\.tsx?$/.test(file)) continue;
    hash.update(file.slice(root.length)).update("\0").update(readFileSync(file)).update("\0");
  }
  return hash.digest("hex");
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      if (entry.name === "node_modules") return [];
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesIn(path) : [path];
    })
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensurePageBuilt();
