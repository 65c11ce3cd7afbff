import { readFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const here = dirname(fileURLToPath(import.meta.url));

/** Every module that a source file names in an import or a re-export that survives compilation. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const statements = text.matchAll(/^(?:import|export)\s+(?!type\s)(?:[\w*{][^;"']*?\sfrom\s+)?["']([^"']+)["'];/gm);
  const dynamic = text.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g);
  return [...statements, ...dynamic].map((match) => match[1] ?? "");
}

function reachFrom(entry: string): { files: Set<string>; modules: Set<string> } {
  const files = new Set<string>();
  const modules = new Set<string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const name of importsOf(file)) {
      if (name.startsWith(".")) waiting.push(resolve(dirname(file), name.replace(/\.js$/, ".ts")));
      else modules.add(name);
    }
  }
  return { files, modules };
}

const entries = [
  { entry: "client/index.ts", reaches: "client/walk-pages.ts" },
  { entry: "timeline/index.ts", reaches: "timeline/bounded-source.ts" },
];

test.each(entries)(
  "[CZ-D-CLIENT-4] $entry imports no Node.js module and no package that needs one",
  ({ entry, reaches }) => {
    const { files, modules } = reachFrom(resolve(dirname(here), entry));
    expect([...files].map((file) => file.slice(dirname(here).length + 1))).toContain(reaches);
    expect([...modules].filter((name) => name.startsWith("node:") || builtinModules.includes(name))).toEqual([]);
    // These two run in browsers; connect-node does not.
    for (const name of modules) expect(name).toMatch(/^@bufbuild\/protobuf(\/|$)|^@connectrpc\/connect(\/|$)/);
  },
);

test.each(entries)("[CZ-D-CLIENT-4] the packages that $entry needs import no Node.js module either", ({ entry }) => {
  const require = createRequire(import.meta.url);
  const { modules } = reachFrom(resolve(dirname(here), entry));
  for (const name of modules) {
    const entry = require.resolve(name).replace("/cjs/", "/esm/");
    const waiting = [entry];
    const seen = new Set<string>();
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (seen.has(file)) continue;
      seen.add(file);
      for (const imported of importsOf(file)) {
        expect(imported, `${file} imports ${imported}`).not.toMatch(/^node:/);
        if (imported.startsWith(".")) waiting.push(resolve(dirname(file), imported));
      }
    }
    expect(seen.size).toBeGreaterThan(1);
  }
});
