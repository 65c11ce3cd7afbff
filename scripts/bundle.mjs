// Bundles the command `wirescope` into one file, because most of a start is Node finding and reading about a thousand small ones. The
// package that people install consists of this bundle. V8's compiled code is not part of it: packages/cli/bin/compile-cache.js
// caches that on the user's machine.
//
// It is made from the TypeScript sources, so nothing has to be compiled before. Called by scripts/setup.mjs.

import { createHash } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureUpToDate, root } from "./up-to-date.mjs";

const cli = join(root, "packages", "cli");
const sources = join(cli, "src");

/** Dependencies that are not bundled: native modules, and packages that few users need. */
const external = ["@napi-rs/keyring", "koffi", "@opentelemetry/*", "@grpc/grpc-js"];

/** Leaves the screen of `top` out of the bundle, because it is a module; see below. */
const importTopScreen = {
  name: "import-top-screen",
  setup({ onLoad }) {
    onLoad({ filter: /live[\\/]run-top\.ts$/ }, ({ path }) => {
      const code = readFileSync(path, "utf8");
      const contents = code.replace('import("./top-screen.js")', 'importModule("./top-screen.js")');
      if (contents === code) throw new Error(`${path} no longer imports top-screen.js.`);
      return { contents, loader: "ts" };
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

/** What the builds have in common. */
const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20.19",
  conditions: ["@wirescope/source"],
  metafile: true,
  logLevel: "warning",
};

/** Bundles the command from its sources, unless it is up to date. The dependencies must be installed. */
export async function ensureBundled() {
  await ensureUpToDate(join(cli, "bundle"), "Bundling the command", async (folder) => {
    const { build } = await import("esbuild");
    const results = await Promise.all([
      bundleCommand(build, folder),
      bundleClockServer(build, folder),
      bundleTopScreen(build, folder),
    ]);
    const scripts = ["bundle.mjs", "sdk-shims.mjs", "undici-client.cjs"].map((name) => join("scripts", name));
    const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
    return [...scripts, ...inputs.filter((input) => !input.includes(":"))];
  });
}

async function bundleCommand(build, folder) {
  const result = await build({
    ...common,
    entryPoints: { wirescope: join(sources, "index.ts") },
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    format: "cjs",
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
    define: { "import.meta.url": "importMetaUrl" },
    // Node's module wrapper, so that load-bundle.js need not concatenate it at each start. The globals are getters, which V8 does not inline.
    banner: {
      js: '(function (exports, require, module, __filename, importModule) {"use strict";const importMetaUrl = require("node:url").pathToFileURL(__filename).href; const { Buffer, performance, process } = globalThis;',
    },
    footer: { js: "})" },
  });
  // The key of the compile cache.
  const bundle = join(folder, "wirescope.cjs");
  appendFileSync(bundle, `// ${createHash("sha256").update(readFileSync(bundle)).digest("hex")}\n`);
  return result;
}

/** The demonstration starts it as a separate process. */
function bundleClockServer(build, folder) {
  return build({
    ...common,
    entryPoints: { "clock-server": join(sources, "demo", "servers", "clock-server.ts") },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    format: "esm",
  });
}

/** Ink waits for its layout engine at the top level, which only modules can. */
function bundleTopScreen(build, folder) {
  return build({
    ...common,
    entryPoints: { "top-screen": join(sources, "live", "top-screen.tsx") },
    outdir: folder,
    format: "esm",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"', "process.env.DEV": '"false"' },
    plugins: [replaceModules],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
}
