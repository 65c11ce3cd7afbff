// Puts the command wirescope into a few files: most of what a start takes is Node looking for a thousand small ones.
// The packages that others import stay as they are built. Run by the set-up and by vitest; by hand: node scripts/bundle.mjs

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
    entryPoints: [entry],
    outdir: aside,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    // What is smaller is read sooner; names stay, for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "linked",
    sourcemap: "linked",
    sourcesContent: false,
    external,
    alias: { "@modelcontextprotocol/client/_shims": fileURLToPath(new URL("sdk-shims.mjs", import.meta.url)) },
    logLevel: "warning",
    // Some of what is bundled is CommonJS, and asks for what Node brings.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
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

/** Changes whenever `tsc -b` built something, or dependencies were installed. */
function stateOf() {
  const built = ["channelz", "instrument", "tool-server", "gateway", "cli"].map((name) =>
    join(root, "packages", name, "dist", ".tsbuildinfo"),
  );
  const files = [...built, join(root, "node_modules", ".package-lock.json"), fileURLToPath(import.meta.url)];
  return files.map((file) => statSync(file).mtimeMs).join(" ");
}

/** For vitest. */
export { ensureBundled as setup };

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBundled();
