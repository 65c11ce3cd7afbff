// Puts the command wirescope into one file: most of what a start takes is Node looking for a thousand small ones. What V8 compiles
// of it is never part of the package: packages/cli/bin/compile-cache.js keeps it on the user's machine. The packages that others
// import stay as they are built.
// Run by the set-up and by vitest; by hand: node scripts/bundle.mjs

import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const cli = join(root, "packages", "cli");
const outdir = join(cli, "bundle");
const entry = join(cli, "dist", "index.js");
const recordName = ".built";
const record = join(outdir, recordName);

/** What stays outside: what is native, what is loaded by name, and what only some who run it need. */
const external = ["@napi-rs/keyring", "koffi", "@opentelemetry/*", "@grpc/grpc-js"];

/** Bundles what `tsc -b` built, if it did, unless that was done since. Needs the dependencies installed. */
export async function ensureBundled() {
  if (!existsSync(entry)) return;
  const state = stateOf();
  if (existsSync(record) && readFileSync(record, "utf8") === state) return;
  const { build } = await import("esbuild");
  // Aside, so that who runs the command meanwhile finds the one before.
  const aside = `${outdir}.${process.pid}`;
  await build({
    entryPoints: { wirescope: entry },
    outdir: aside,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20.19",
    // What is smaller is read sooner; names stay, for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "linked",
    sourcemap: "linked",
    sourcesContent: false,
    external,
    alias: {
      "@modelcontextprotocol/client/_shims": fileURLToPath(new URL("sdk-shims.mjs", import.meta.url)),
      // Its main file is UMD, whose require calls esbuild cannot follow.
      "jsonc-parser": "jsonc-parser/lib/esm/main.js",
      undici: fileURLToPath(new URL("undici-client.cjs", import.meta.url)),
    },
    logLevel: "warning",
    define: { "import.meta.url": "importMetaUrl" },
    // As Node wraps a module, so that it need not be put together when it is loaded.
    banner: {
      js: '(function (exports, require, module, __filename) {"use strict";const importMetaUrl = require("node:url").pathToFileURL(__filename).href;',
    },
    footer: { js: "})" },
  });
  writeFileSync(join(aside, recordName), state);
  rmSync(outdir, { recursive: true, force: true });
  try {
    renameSync(aside, outdir);
  } catch {
    // Another did the same in the meantime, of the same.
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Changes whenever `tsc -b` built something or dependencies were installed. */
function stateOf() {
  const built = ["channelz", "instrument", "tool-server", "gateway", "quirks", "cli"].map((name) =>
    join(root, "packages", name, "dist", ".tsbuildinfo"),
  );
  const scripts = ["bundle.mjs", "sdk-shims.mjs", "undici-client.cjs"].map((name) => join(root, "scripts", name));
  const files = [...built, join(root, "node_modules", ".package-lock.json"), ...scripts];
  return files.map((file) => statSync(file).mtimeMs).join(" ");
}

/** For vitest. */
export { ensureBundled as setup };

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBundled();
