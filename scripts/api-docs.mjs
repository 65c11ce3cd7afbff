// npm run docs -- api: generates the API reference of all public entries with TypeDoc, as HTML in docs/api.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { installTools, root } from "./setup.mjs";

// Nothing else needs TypeDoc. It needs the compiler API, which TypeScript 7 does not have. So it gets its own TypeScript.
const versions = { typedoc: "0.28.20", typescript: "5.9.3" };
const home = join(root, ".api-docs");
const out = join(root, "docs", "api");

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

export async function main() {
  await installTools(home, versions);
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
}
