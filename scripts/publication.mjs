// node scripts/publication.mjs: prepares the packages for publication. Run by .github/workflows/release.yml in a checkout of its own.
//
// Adds the fields that npm shows, and makes relative links of READMEs absolute: npm shows them without the repository.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

/** The public address of this repository, such as https://github.com/owner/wirescope. Set it before the first publication. */
export const repository = "";

/** Changes package.json and README.md of each public package in the folder. Throws if the address is empty. */
export function preparePackages(folder, address) {
  if (address === "") {
    throw new Error(
      "The packages have no repository, homepage and bugs. Set `repository` in scripts/publication.mjs to the public address of this repository.",
    );
  }
  for (const name of readdirSync(folder)) {
    const [manifest, readme] = ["package.json", "README.md"].map((file) => join(folder, name, file));
    const before = JSON.parse(readFileSync(manifest, "utf8"));
    if (before.private) continue;
    const directory = `packages/${name}`;
    const fields = {
      repository: { type: "git", url: `git+${address}.git`, directory },
      homepage: `${address}/tree/main/${directory}#readme`,
      bugs: `${address}/issues`,
    };
    writeFileSync(manifest, `${JSON.stringify({ ...before, ...fields }, null, 2)}\n`);
    const absolute = (link) => `](${address}/blob/main/${posix.join(directory, link)})`;
    const text = readFileSync(readme, "utf8");
    writeFileSync(
      readme,
      text.replaceAll(/\]\((\.\.?\/[^)]*)\)/g, (_, link) => absolute(link)),
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    preparePackages(fileURLToPath(new URL("../packages", import.meta.url)), repository);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
