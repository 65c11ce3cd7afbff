import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Entry {
  /** As it is imported. */
  readonly specifier: string;
  /** Its source file. */
  readonly file: string;
}

/** The entries of all packages that are for users. */
const entries: readonly Entry[] = readdirSync(join(root, "packages")).flatMap((folder) => {
  const path = join(root, "packages", folder);
  const { name, exports = {} } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  return Object.entries(exports as Record<string, string | Record<string, string>>).flatMap(([door, target]) =>
    door.startsWith("./internal") || typeof target === "string"
      ? []
      : [{ specifier: name + door.slice(1), file: join(path, target["@wirescope/source"] ?? "") }],
  );
});

/** The names that docs/api.md lists for an entry. */
function listed(specifier: string): string[] {
  const page = readFileSync(join(root, "docs", "api.md"), "utf8");
  const section = page.split(/^## /m).find((each) => each.startsWith(`\`${specifier}\`\n`)) ?? "";
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = ""]) => name);
}

/** The exports of a source file, by the file that declares them; those of generated code and of other packages are left out. */
function declarations(file: string): { readonly name: string; readonly file: string; readonly isType: boolean }[] {
  const text = readFileSync(file, "utf8");
  const target = (specifier: string): string => join(dirname(file), specifier.replace(/\.js$/, ".ts"));
  const named = [...text.matchAll(/^export (type )?\{([^}]*)\} from "(\.[^"]+)"/gm)].flatMap(
    ([, type, names = "", specifier = ""]) =>
      names
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "")
        .map((name) => ({
          name: name.replace(/^type /, "").replace(/ as \w+$/, ""),
          file: target(specifier),
          isType: type !== undefined || name.startsWith("type "),
        })),
  );
  const all = [...text.matchAll(/^export (?:type )?\* from "(\.[^"]+)"/gm)].flatMap(([, specifier = ""]) =>
    declarations(target(specifier)),
  );
  return [...named, ...all].filter((each) => !each.file.includes("/gen/"));
}

/** Whether the declaration of a name has a doc comment. */
function isDocumented(name: string, file: string): boolean {
  if (!existsSync(file)) throw new Error(`${file} does not exist.`);
  const text = readFileSync(file, "utf8");
  const declaration = new RegExp(
    `^export (?:declare |abstract |async )*(?:function\\*?|const|class|interface|type|enum) ${name}\\b`,
    "m",
  ).exec(text);
  // A file that only forwards another.
  if (declaration === null) {
    const next = declarations(file).find((each) => each.name === name);
    return next !== undefined && isDocumented(name, next.file);
  }
  return /\*\/\s*$/.test(text.slice(0, declaration.index));
}

describe.each(entries)("$specifier", ({ specifier, file }) => {
  test("exports the values that docs/api.md lists, and no others", async () => {
    // It starts a listener.
    if (specifier.endsWith("/auto")) return;
    const generated = new Set<string>();
    for (const path of generatedBy(file)) {
      for (const name of Object.keys(await import(pathToFileURL(path).href))) generated.add(name);
    }
    const values = Object.keys(await import(pathToFileURL(file).href)).filter((name) => !generated.has(name));
    expect(values.sort()).toEqual(listed(specifier).sort());
  });

  test("documents every export with a comment", () => {
    const bare = declarations(file).filter((each) => !isDocumented(each.name, each.file));
    expect(bare.map((each) => `${relative(root, each.file)}: ${each.name}`)).toEqual([]);
  });
});

/** The generated files that an entry exports as a whole. */
function generatedBy(file: string): string[] {
  return [...readFileSync(file, "utf8").matchAll(/^export \* from "(\.[^"]*\/gen\/[^"]+)"/gm)].map(
    ([, specifier = ""]) => join(dirname(file), specifier.replace(/\.js$/, ".ts")),
  );
}
