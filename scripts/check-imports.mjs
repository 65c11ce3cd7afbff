// Holds the imports of the workspace against the directions of docs/architecture.md, and fails where they are broken.
//
// Reads the sources as text, as Biome formats them: an import begins at the start of a line. Cycles are Biome's to find.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const scope = "@wirescope/";

/**
 * Which packages a package may import, and in what way: "value", "type" for types alone, "test" in its tests alone, or the
 * only subpath allowed.
 */
const packageDirections = {
  channelz: {},
  quirks: {},
  "tool-server": { quirks: "test" },
  instrument: { channelz: "value", "tool-server": "type" },
  gateway: { instrument: "value", channelz: "value", "tool-server": "value" },
  cli: { gateway: "value", instrument: "value", channelz: "value", "tool-server": "value" },
  ui: { channelz: "/client", gateway: "/admin" },
};

/** Which folders of a package's src never import which others. Tests may: they put the parts together. */
const folderDirections = {
  channelz: {
    wire: ["registry", "service", "listener", "client", "dial"],
    registry: ["service", "listener", "client", "dial"],
    service: ["listener", "client", "dial"],
    listener: ["client", "dial"],
    client: ["registry", "wire", "service", "listener", "dial"],
    dial: ["registry", "wire", "service", "listener"],
  },
};

/** Entries that must run in a browser, and the dependencies that do. */
const browserEntries = ["packages/channelz/src/client/index.ts", "packages/gateway/src/admin/client/index.ts"];
const browserSafe = ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web"];

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)));
const files = ["packages", "benchmarks", "conformance", "examples", "test"]
  .flatMap(sources)
  .map((path) => ({ path, imports: importsOf(path) }));

const violations = [
  ...files.flatMap((file) => file.imports.flatMap((found) => broken(file.path, found))),
  ...browserEntries.filter((entry) => existsSync(join(root, entry))).flatMap(brokenInBrowser),
];
for (const { path, line, rule, advice } of violations) console.error(`${path}:${line}: ${rule}\n  ${advice}`);
if (violations.length > 0) {
  console.error(`\n${violations.length} import(s) go the wrong way. The directions are in docs/architecture.md.`);
  process.exitCode = 1;
}

/** What is wrong with one import, seen from its file alone. */
function broken(path, { specifier, line, typeOnly }) {
  const at = (rule, advice) => ({ path, line, rule, advice });
  const home = workspaceOf(path);

  if (specifier.startsWith(".")) {
    const target = targetOf(path, specifier);
    const other = workspaceOf(target);
    if (other !== home) {
      return [
        at(
          `A relative import crosses from ${home ?? "outside the packages"} to ${other ?? "outside the packages"}: "${specifier}".`,
          "Import the package by its name, and export there what is needed here.",
        ),
      ];
    }
    return brokenFolder(path, target, at);
  }

  if (!specifier.startsWith(scope) || !home?.startsWith("packages/")) return [];
  const from = home.slice("packages/".length);
  const [to, ...rest] = specifier.slice(scope.length).split("/");
  if (to === from) return [at(`${scope}${from} imports itself by name.`, "Use a relative import.")];
  const directions = packageDirections[from];
  if (directions === undefined) {
    return [
      at(`The package ${from} has no directions yet.`, "Give it a row in packageDirections of check-imports.mjs."),
    ];
  }
  const allowed = directions[to];
  if (allowed === undefined) {
    const list = Object.keys(directions).join(", ") || "no sibling";
    return [
      at(
        `${from} must not import ${to}; it may import ${list}.`,
        `Move what is needed down to a package that both may import, or hand it in from above.`,
      ),
    ];
  }
  if (allowed === "type" && !typeOnly) {
    return [at(`${from} takes only types from ${to}.`, "Write `import type`, or hand the value in from above.")];
  }
  if (allowed === "test" && !/\.test(\.helper)?\.ts$/.test(path)) {
    return [at(`${from} imports ${to} in its tests alone.`, "Hand in what is needed, or move it to a test.")];
  }
  if (allowed.startsWith("/") && `/${rest.join("/")}` !== allowed) {
    return [at(`${from} may import only ${scope}${to}${allowed}.`, `Import from "${scope}${to}${allowed}".`)];
  }
  return [];
}

function brokenFolder(path, target, at) {
  if (path.endsWith(".test.ts")) return [];
  const [, name, , from, ...below] = path.split("/");
  const to = target.split("/")[3];
  if (below.length === 0 || !folderDirections[name]?.[from]?.includes(to)) return [];
  return [
    at(
      `Within ${name}, ${from}/ must not import ${to}/.`,
      `Move what both need to the top of packages/${name}/src, or turn the import round.`,
    ),
  ];
}

/** What an entry for browsers reaches that a browser does not have; types count, for they reach its declarations. */
function brokenInBrowser(entry) {
  const found = [];
  const seen = new Set([entry]);
  for (const path of seen) {
    for (const { specifier, line } of files.find((file) => file.path === path)?.imports ?? []) {
      if (specifier.startsWith(".")) seen.add(targetOf(path, specifier));
      else if (!browserSafe.some((name) => specifier === name || specifier.startsWith(`${name}/`))) {
        found.push({
          path,
          line,
          rule: `"${specifier}" does not run in a browser, and ${entry} reaches this file.`,
          advice: `Keep it out of what the entry imports, or, if it does run there, add it to browserSafe.`,
        });
      }
    }
  }
  return found;
}

function importsOf(path) {
  const text = readFileSync(join(root, path), "utf8");
  const found = [];
  const add = (match, specifier, typeOnly) =>
    found.push({ specifier, typeOnly, line: text.slice(0, match.index).split("\n").length });
  for (const match of text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[\w$*{},\s]*?\sfrom\s+)?"([^"\n]+)"/gm)) {
    add(match, match[2], match[1] !== undefined);
  }
  for (const match of text.matchAll(/^(?!\s*(?:\/\/|\*)).*?\bimport\(\s*"([^"\n]+)"/gm)) add(match, match[1], false);
  return found;
}

function targetOf(path, specifier) {
  const target = relative(root, resolve(root, dirname(path), specifier))
    .split(sep)
    .join("/");
  return existsSync(join(root, target)) ? target : target.replace(/\.js$/, ".ts");
}

/** The package that a path lies in; the tests, scripts and the like lie in none. */
function workspaceOf(path) {
  return /^(packages\/[^/]+|benchmarks|conformance|examples\/[^/]+)\//.exec(path)?.[1];
}

function sources(directory) {
  if (!existsSync(join(root, directory))) return [];
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory()) return ["node_modules", "dist", "gen"].includes(entry.name) ? [] : sources(path);
    return /\.(ts|tsx|mjs|js)$/.test(entry.name) ? [path] : [];
  });
}
