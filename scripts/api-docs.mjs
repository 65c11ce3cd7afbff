// npm run docs:api: generates the API reference of all public entries with TypeDoc, as HTML in docs/api.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { command, root, run, SetupError } from "./setup.mjs";

// TypeDoc needs the compiler API, which TypeScript 7 does not have. So it gets its own TypeScript.
const versions = { typedoc: "0.28.20", typescript: "5.9.3" };
const home = join(root, ".api-docs");
const out = join(root, "docs", "api");

/** Installs TypeDoc below .api-docs, once: nothing else needs it. */
async function installTypeDoc() {
  const record = join(home, "installed");
  const wanted = JSON.stringify(versions);
  if (existsSync(record) && readFileSync(record, "utf8") === wanted) return;
  console.error(`Installing TypeDoc ${versions.typedoc}.`);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), '{"private": true}\n');
  const packages = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  const code = await run("npm", ["install", "--loglevel=error", "--no-progress", "--prefix", home, ...packages]);
  if (code !== 0) throw new SetupError(`TypeDoc cannot be installed: npm exited with code ${code}.`);
  writeFileSync(record, wanted);
}

function publicPackages() {
  return readdirSync(join(root, "packages"))
    .map((name) => join(root, "packages", name))
    .map((folder) => ({ ...JSON.parse(readFileSync(join(folder, "package.json"), "utf8")), folder }))
    .filter(({ private: isPrivate }) => !isPrivate);
}

/** The source files of all entries that are for users. */
function publicEntries() {
  return publicPackages().flatMap(({ folder, exports }) =>
    Object.entries(exports)
      .filter(([subpath, target]) => !subpath.startsWith("./internal") && typeof target === "object")
      .map(([, target]) => join(folder, target["@wirescope/source"])),
  );
}

await command(async () => {
  await installTypeDoc();
  const { Application } = await import(pathToFileURL(join(home, "node_modules", "typedoc", "dist", "index.js")).href);
  const tsconfig = join(home, "tsconfig.json");
  const entryPoints = publicEntries();
  // Packages refer to each other's sources, so nothing has to be built first.
  const compilerOptions = {
    customConditions: ["@wirescope/source"],
    composite: false,
    incremental: false,
    noEmit: true,
    rootDir: "..",
    typeRoots: ["../node_modules/@types"],
  };
  writeFileSync(tsconfig, JSON.stringify({ extends: "../tsconfig.base.json", compilerOptions, files: entryPoints }));
  const app = await Application.bootstrap({
    name: "Wirescope",
    entryPoints,
    tsconfig,
    out,
    readme: "none",
    excludeExternals: true,
    excludePrivate: true,
    skipErrorChecking: true,
    githubPages: false,
    // Comments of generated code.
    blockTags: ["@generated", "@param", "@returns", "@throws", "@example", "@deprecated"],
    excludeTags: ["@generated"],
    validation: { notExported: false, invalidLink: true, notDocumented: false },
    disableSources: true,
  });
  const project = await app.convert();
  if (project === undefined) return 1;
  app.validate(project);
  await app.generateOutputs(project);
  return 0;
});
