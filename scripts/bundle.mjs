// Bundles the command `wirescope` into one file, because most of a start is Node finding and reading about a thousand small ones. The
// package that people install consists of this bundle. V8's compiled code is not part of it: packages/cli/bin/compile-cache.js
// caches that on the user's machine.
//
// Called by scripts/setup.mjs and by vitest. To run it alone: node scripts/bundle.mjs

import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensurePageBuilt } from "./page.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const cli = join(root, "packages", "cli");
const outdir = join(cli, "bundle");
const entry = join(cli, "dist", "index.js");
const recordName = ".built";
const record = join(outdir, recordName);

/** Dependencies that are not bundled: native modules, and packages that few users need. */
const external = ["@napi-rs/keyring", "koffi", "@opentelemetry/*", "@grpc/grpc-js"];

/** Leaves the screen of `top` out of the bundle, because it is a module; see below. */
const importTopScreen = {
  name: "import-top-screen",
  setup({ onLoad }) {
    onLoad({ filter: /live[\\/]run-top\.js$/ }, ({ path }) => {
      const code = readFileSync(path, "utf8");
      const contents = code.replace('import("./top-screen.js")', 'importModule("./top-screen.js")');
      if (contents === code) throw new Error(`${path} no longer imports top-screen.js.`);
      return { contents };
    });
  },
};

/**
 * Modules that Ink imports, and what `top` uses in their place: React's devtools serve Ink's own development, and in an environment
 * with `CI` Ink draws nothing before it ends, although `top` only starts it at a terminal.
 */
const replacements = { "react-devtools-core": "export default {};", "is-in-ci": "export default false;" };
const replaceModules = {
  name: "replace-modules",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(?:${Object.keys(replacements).join("|")})$`) }, ({ path }) => ({
      path,
      namespace: "replaced",
    }));
    onLoad({ filter: /.*/, namespace: "replaced" }, ({ path }) => ({ contents: replacements[path] }));
  },
};

/** Bundles the output of `tsc -b` and builds the page, unless they are up to date. The dependencies must be installed. */
export async function ensureBundled() {
  await ensurePageBuilt();
  if (!existsSync(entry)) return;
  const state = stateOf();
  if (existsSync(record) && readFileSync(record, "utf8") === state) return;
  const { build } = await import("esbuild");
  // Into a temporary folder first, so that a running command keeps its bundle.
  const aside = `${outdir}.${process.pid}`;
  await build({
    entryPoints: { wirescope: entry },
    outdir: aside,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20.19",
    // Smaller files load faster. Names are kept for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "linked",
    sourcemap: "linked",
    sourcesContent: false,
    external,
    // In code from V8's cache, import() fails (Node 20): packages are loaded with require, and our own module by load-bundle.js.
    supported: { "dynamic-import": false },
    plugins: [importTopScreen],
    alias: {
      "@modelcontextprotocol/client/_shims": fileURLToPath(new URL("sdk-shims.mjs", import.meta.url)),
      // Its main file is UMD, whose require calls esbuild cannot follow.
      "jsonc-parser": "jsonc-parser/lib/esm/main.js",
      undici: fileURLToPath(new URL("undici-client.cjs", import.meta.url)),
    },
    logLevel: "warning",
    define: { "import.meta.url": "importMetaUrl" },
    // Node's module wrapper, so that load-bundle.js need not concatenate it at each start. The globals are getters, which V8 does not inline.
    banner: {
      js: '(function (exports, require, module, __filename, importModule) {"use strict";const importMetaUrl = require("node:url").pathToFileURL(__filename).href; const { Buffer, performance, process } = globalThis;',
    },
    footer: { js: "})" },
  });
  // The key of the compile cache.
  const bundle = join(aside, "wirescope.cjs");
  appendFileSync(bundle, `// ${createHash("sha256").update(readFileSync(bundle)).digest("hex")}\n`);
  // The demonstration starts it as a separate process.
  await build({
    entryPoints: { "clock-server": join(cli, "dist", "demo", "servers", "clock-server.js") },
    outdir: aside,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    logLevel: "warning",
  });
  // Ink waits for its layout engine at the top level, which only modules can.
  await build({
    entryPoints: { "top-screen": join(cli, "dist", "live", "top-screen.js") },
    outdir: aside,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"', "process.env.DEV": '"false"' },
    plugins: [replaceModules],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "warning",
  });
  writeFileSync(join(aside, recordName), state);
  rmSync(outdir, { recursive: true, force: true });
  try {
    renameSync(aside, outdir);
  } catch {
    // Another process has just written the same bundle.
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Changes when `tsc -b` writes a file, and when dependencies are installed. */
function stateOf() {
  const built = ["channelz", "instrument", "tool-server", "gateway", "quirks", "cli"].map((name) =>
    join(root, "packages", name, "dist", ".tsbuildinfo"),
  );
  const scripts = ["bundle.mjs", "sdk-shims.mjs", "undici-client.cjs"].map((name) => join(root, "scripts", name));
  const files = [...built, join(root, "node_modules", ".package-lock.json"), ...scripts];
  return files.map((file) => statSync(file).mtimeMs).join(" ");
}

/** The global setup of vitest. */
export { ensureBundled as setup };

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBundled();
