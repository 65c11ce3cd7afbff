// Checks the imports of the workspace against the directions in docs/architecture.md.
//
// Reads the sources as text, as formatted by Biome: an import begins at the start of a line. Imports of types count as well,
// because readers of a file have to read the types that it uses.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const scope = "@wirescope/";

/**
 * Which packages a package may import, and how: "value", "type" for types only, "test" for tests only, or the list of allowed
 * subpaths.
 */
const packageDirections = {
  channelz: {},
  quirks: {},
  "tool-server": { quirks: "test" },
  instrument: { channelz: "value", "tool-server": "type" },
  gateway: { instrument: "value", channelz: "value", "tool-server": "value" },
  cli: { gateway: "value", instrument: "value", channelz: "value", "tool-server": "value", quirks: "value" },
  ui: {
    channelz: ["/client", "/timeline", "/corrected", "/internal/text", "/internal/socket-options"],
    gateway: ["/admin", "/internal/status-text"],
  },
};

/** Every row above this one. */
const below = "below";

/** What OAuth may import, and the order of its parts: each may import those before it. */
const belowOAuth = ["causes", "secrets", "errors.ts", "diagnostics.ts", "http", "auth/vault", "auth/credentials"];
const oauthOrder = [
  "auth/oauth/requests/address-guard.ts",
  "auth/oauth",
  "auth/oauth/requests",
  "auth/oauth/discovery",
  "auth/oauth/clients",
  "auth/oauth/tokens",
  "auth/oauth/sign-in",
  "auth/oauth/login",
];

/** The parts of the gateway, without its observers: nothing but `gateway-observers.ts` imports those, so that they can be deleted. */
const gatewayParts = [
  "servers",
  "dispatch",
  "callers",
  "endpoint",
  "listener",
  "admin/client",
  "page",
  "gateway-options.ts",
];

/**
 * Which folders and top-level files of a package's src may import which others. The rows are ordered: each lists only rows above
 * it. A nested folder or file may have its own row ("auth/vault"). Top-level files without a row are shared by all, and import no folder.
 * Tests may import anything.
 */
const folderDirections = {
  channelz: {
    text: [],
    wire: [],
    registry: ["wire"],
    service: [],
    listener: ["service"],
    client: ["text"],
    corrected: ["client"],
    conform: ["text", "client", "corrected"],
    dial: ["text", "client"],
    timeline: ["text", "client"],
    "timeline/node": ["timeline"],
    "internal.ts": ["text", "client", "dial"],
  },
  instrument: {
    sockets: [],
    messages: [],
    "listening.ts": ["sockets"],
    http: ["sockets", "messages", "listening.ts"],
    http2: ["sockets", "messages", "listening.ts", "http"],
    "connect-node": ["http", "http2"],
    "grpc-js": ["sockets", "listening.ts", "http2"],
    undici: ["sockets", "messages", "http"],
    "tool-server": ["sockets"],
    listener: ["sockets", "http", "http2"],
    "internal.ts": ["listener"],
    process: ["http", "http2", "grpc-js", "undici", "tool-server", "listener"],
    "auto.ts": ["process"],
  },
  "tool-server": {
    secrets: [],
    process: ["secrets"],
    causes: [],
    "errors.ts": ["process", "causes"],
    files: [],
    "diagnostics.ts": ["secrets", "errors.ts"],
    config: ["secrets", "process", "errors.ts", "files"],
    trust: ["process", "errors.ts", "files", "config"],
    http: ["secrets", "process", "errors.ts", "diagnostics.ts", "config"],
    "auth/vault": ["secrets", "process", "errors.ts", "files"],
    "auth/credentials": ["causes", "secrets", "process", "errors.ts", "diagnostics.ts", "config"],
    ...Object.fromEntries(oauthOrder.map((row, index) => [row, [...belowOAuth, ...oauthOrder.slice(0, index)]])),
    "auth/oauth/sign-in": [...belowOAuth, ...oauthOrder.slice(0, oauthOrder.indexOf("auth/oauth/sign-in")), "process"],
    // Only its index.ts.
    auth: ["causes", "auth/vault", "auth/credentials", ...oauthOrder],
    "connection/rpc": ["errors.ts"],
    "connection/transports": below,
    connection: ["secrets", "process", "errors.ts", "diagnostics.ts", "connection/rpc", "connection/transports"],
    "connection/servers": below,
    "connection/bridge": below,
    "stored-inputs.ts": below,
    "load-tool-servers.ts": below,
    "why/evidence.ts": below,
    "why/explanation.ts": below,
    // Collects evidence; the causes are found in the evidence alone.
    "why/walk": below,
    "why/rank": [
      "secrets",
      "process",
      "causes",
      "errors.ts",
      "config",
      "http",
      "auth/oauth/discovery",
      "why/evidence.ts",
    ],
    why: below,
    "open-tool-servers.ts": below,
    "internal.ts": below,
  },
  gateway: {
    "observers/metrics": [],
    "observers/call-log": [],
    "observers/telemetry": [],
    observers: [],
    servers: [],
    dispatch: ["servers"],
    callers: ["dispatch"],
    endpoint: ["servers", "dispatch", "callers"],
    listener: ["callers", "endpoint"],
    "admin/client": [],
    "admin/messages": ["servers"],
    admin: ["servers", "admin/client", "admin/messages"],
    page: ["endpoint"],
    "gateway-options.ts": ["servers", "dispatch", "endpoint", "listener", "admin", "page"],
    "gateway-observers.ts": ["observers/metrics", "observers/call-log", "observers/telemetry", "observers"],
    "gateway-services.ts": ["admin", "page"],
    "gateway.ts": ["servers", "endpoint"],
    "run-gateway.ts": [...gatewayParts, "gateway-observers.ts", "gateway-services.ts", "gateway.ts"],
    "start-gateway.ts": [...gatewayParts, "gateway.ts", "run-gateway.ts"],
    "internal.ts": [...gatewayParts, "admin", "admin/messages", "gateway.ts"],
  },
  cli: {
    output: [],
    "options.ts": ["output"],
    "connect-by-options.ts": ["options.ts"],
    jsonc: [],
    demo: [],
    telemetry: [],
    read: ["output"],
    completion: ["options.ts", "connect-by-options.ts"],
    conform: ["output"],
    history: ["output", "connect-by-options.ts"],
    live: ["output", "options.ts", "connect-by-options.ts"],
    explain: ["output", "read", "live"],
    export: ["output", "live", "telemetry"],
    "tool-server": ["output", "options.ts", "jsonc"],
    why: ["output", "options.ts", "tool-server"],
    admin: ["output", "options.ts", "tool-server", "why"],
    check: ["output", "options.ts", "tool-server", "why"],
    page: ["output", "options.ts", "connect-by-options.ts", "tool-server"],
    up: ["output", "options.ts", "jsonc", "demo", "telemetry", "tool-server", "admin"],
    install: ["output", "options.ts", "jsonc", "tool-server"],
    configure: ["output", "options.ts", "jsonc", "tool-server", "install"],
    commands: below,
    "command-table.ts": ["commands"],
    "help.ts": ["output", "options.ts", "commands", "command-table.ts"],
    "main.ts": below,
  },
  // The shell shows the views; no view imports another one, or the shell.
  ui: {
    design: [],
    "shell/routing": [],
    "shell/store": ["shell/routing"],
    // The page as an MCP client; loaded with the tools.
    "shell/mcp": ["shell/store"],
    "shell/server-actions": ["design", "shell/routing", "shell/store"],
    "object-model": ["design"],
    overview: ["design", "shell/routing", "shell/store", "shell/server-actions", "object-model"],
    connections: ["design", "shell/routing", "shell/store", "object-model"],
    object: ["design", "shell/routing", "shell/store", "object-model"],
    calls: ["design", "shell/routing", "shell/store"],
    tools: ["design", "shell/routing", "shell/store", "shell/mcp"],
    explain: ["design", "shell/routing", "shell/store", "shell/server-actions"],
    history: ["design", "shell/routing", "shell/store"],
    shell: below,
    "main.tsx": below,
  },
  quirks: {
    "authorization-server": [],
    "tool-server": ["authorization-server"],
    providers: ["authorization-server", "tool-server"],
    "start-quirks.ts": ["authorization-server", "tool-server"],
    command: ["start-quirks.ts"],
  },
};

/** Entries that must run in a browser, and the dependencies that run there. */
const browserEntries = [
  "packages/channelz/src/client/index.ts",
  "packages/channelz/src/text/index.ts",
  "packages/channelz/src/text/socket-options.ts",
  "packages/channelz/src/timeline/index.ts",
  "packages/channelz/src/corrected/index.ts",
  "packages/channelz/src/conform/index.ts",
  "packages/gateway/src/admin/client/index.ts",
];
const browserSafe = ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web"];

// Of the checkout that is being checked.
let root;
let files;
let importsByPath;

/** The violations in a checkout: path, line, rule, advice. */
export function findViolations(checkout) {
  root = checkout;
  files = ["packages", "benchmarks", "conformance", "examples", "test", "docs", "README.md"]
    .flatMap(sources)
    .map((path) => ({ path, imports: importsOf(path) }));
  importsByPath = new Map(files.map(({ path, imports }) => [path, imports]));
  return [
    ...files.flatMap((file) => file.imports.flatMap((found) => broken(file.path, found))),
    ...foldersWithoutRow(),
    ...cycles(),
    ...browserEntries.filter((entry) => existsSync(join(root, entry))).flatMap(brokenInBrowser),
    ...brokenTable(),
  ];
}

function main([checkout = fileURLToPath(new URL("..", import.meta.url))]) {
  const violations = findViolations(resolve(checkout));
  for (const { path, line, rule, advice } of violations) console.error(`${path}:${line}: ${rule}\n  ${advice}`);
  if (violations.length > 0) {
    console.error(`\n${violations.length} violation(s). docs/architecture.md explains the import directions.`);
    process.exitCode = 1;
  }
}

/** The violations of one import. */
function broken(path, { specifier, line, typeOnly }) {
  const at = (rule, advice) => ({ path, line, rule, advice });
  const home = workspaceOf(path);

  if (isInternal(specifier) && isPublic(path)) {
    return [
      at(
        `"${specifier}" is for the packages of this repository, and readers copy this file.`,
        "Import what a public entry of the package exports, or export there what is missing.",
      ),
    ];
  }

  if (path.endsWith(".md")) return [];

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

  const imported = siblingOf(specifier);
  if (imported === undefined || !home?.startsWith("packages/")) return [];
  const from = home.slice("packages/".length);
  const { folder: to, rest } = imported;
  if (to === from) return [at(`${from} imports itself by name.`, "Use a relative import.")];
  const directions = packageDirections[from];
  if (directions === undefined) {
    return [at(`The package ${from} has no directions yet.`, "Add a row to packageDirections in check-imports.mjs.")];
  }
  const allowed = directions[to];
  if (allowed === undefined) {
    const list = Object.keys(directions).join(", ") || "no sibling";
    return [
      at(
        `${from} must not import ${to}; it may import ${list}.`,
        `Move the code to a package that both may import, or pass it in from above.`,
      ),
    ];
  }
  if (allowed === "type" && !typeOnly) {
    return [at(`${from} takes only types from ${to}.`, "Write `import type`, or pass the value in from above.")];
  }
  if (allowed === "test" && !isTest(path)) {
    return [at(`${from} may import ${to} only in its tests.`, "Pass in what is needed, or move the code to a test.")];
  }
  const subpaths = [allowed].flat().filter((each) => each.startsWith("/"));
  if (subpaths.length > 0 && !subpaths.includes(rest)) {
    const names = subpaths.map((each) => `${scope}${to}${each}`).join(" or ");
    return [at(`${from} may import only ${names}.`, `Import from ${names}.`)];
  }
  return [];
}

function brokenFolder(path, target, at) {
  if (isTest(path)) return [];
  const [name, from] = partOf(path);
  const [, to] = partOf(target);
  const rows = folderDirections[name];
  if (rows === undefined || from === to || from === "index.ts" || to === "gen") return [];
  if (rows[to] === undefined || mayImport(rows, from, to)) return [];
  return [
    at(
      `Within ${name}, ${titleOf(from)} must not import ${titleOf(to)}.`,
      `Move the shared code to a folder that both may import, or reverse the import.`,
    ),
  ];
}

function mayImport(rows, from, to) {
  const names = Object.keys(rows);
  const allowed = rows[from] ?? [];
  return allowed === below ? names.indexOf(to) < names.indexOf(from) : allowed.includes(to);
}

function foldersWithoutRow() {
  const found = new Map();
  for (const { path } of files) {
    const [name, folder] = partOf(path);
    if (name === undefined || folder.includes(".") || folderDirections[name]?.[folder] !== undefined) continue;
    if (!found.has(`${name}/${folder}`)) {
      const rule = `The folder ${folder}/ of ${name} has no row.`;
      const advice = "Add a row to folderDirections in check-imports.mjs with the folders that it may import.";
      found.set(`${name}/${folder}`, { path, line: 1, rule, advice });
    }
  }
  return found.values();
}

/** One violation for each group of files that import each other, with a shortest cycle among them. */
function cycles() {
  const targets = new Map();
  for (const { path, imports } of files) {
    const found = imports
      .filter(({ specifier }) => specifier.startsWith("."))
      .map(({ specifier, line }) => ({ to: targetOf(path, specifier), line }))
      .filter(({ to }) => importsByPath.has(to));
    targets.set(path, found);
  }
  const found = [];
  const reported = new Set();
  for (const [path, imports] of targets) {
    if (reported.has(path)) continue;
    const ways = imports
      .map(({ to, line }) => ({ line, way: wayBetween(targets, to, path) }))
      .filter(({ way }) => way !== undefined)
      .sort((a, b) => a.way.length - b.way.length);
    if (ways.length === 0) continue;
    const [{ line, way }] = ways;
    for (const each of way) reported.add(each);
    found.push({
      path,
      line,
      rule: `A cycle of imports: ${[path, ...way].join(" -> ")}.`,
      advice: "Move the shared code to a separate file that imports none of them; types count as well.",
    });
  }
  return found;
}

/** The shortest chain of imports from one file to another; undefined if they are not connected. */
function wayBetween(targets, from, to) {
  const before = new Map([[from, undefined]]);
  for (const path of before.keys()) {
    if (path === to) {
      const way = [];
      for (let each = path; each !== undefined; each = before.get(each)) way.unshift(each);
      return way;
    }
    for (const { to: next } of targets.get(path) ?? []) if (!before.has(next)) before.set(next, path);
  }
  return undefined;
}

/** The errors in the tables themselves. */
function brokenTable() {
  const at = (rule, advice) => ({ path: "scripts/check-imports.mjs", line: 1, rule, advice });
  return Object.entries(folderDirections).flatMap(([name, rows]) => {
    const names = Object.keys(rows);
    return names.flatMap((row, index) =>
      rows[row] === below
        ? []
        : rows[row]
            .filter((each) => !names.slice(0, index).includes(each))
            .map((each) =>
              at(`The row ${row} of ${name} lists ${each}, which is not a row above it.`, "Order the rows."),
            ),
    );
  });
}

/** The imports reachable from a browser entry that do not run in a browser; types count, because its declarations use them. */
function brokenInBrowser(entry) {
  const found = [];
  const seen = new Set([entry]);
  for (const path of seen) {
    for (const { specifier, line } of importsByPath.get(path) ?? []) {
      if (specifier.startsWith(".")) seen.add(targetOf(path, specifier));
      else if (!browserSafe.some((name) => specifier === name || specifier.startsWith(`${name}/`))) {
        found.push({
          path,
          line,
          rule: `"${specifier}" does not run in a browser, and ${entry} reaches this file.`,
          advice: `Do not import it from this entry, or, if it does run in a browser, add it to browserSafe.`,
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
  const candidates = [target, target.replace(/\.js$/, ".ts"), target.replace(/\.js$/, ".tsx")];
  return candidates.find((each) => existsSync(join(root, each))) ?? target.replace(/\.js$/, ".ts");
}

/** The package that a file is in, and its row: the closest folder that has one, or its own; otherwise its folder below src. */
function partOf(path) {
  const [, name, inner] = /^packages\/([^/]+)\/src\/(.+)$/.exec(path) ?? [];
  if (name === undefined) return [];
  const [folder] = inner.split("/");
  let part = inner;
  while (part !== folder && folderDirections[name]?.[part] === undefined) part = part.slice(0, part.lastIndexOf("/"));
  return [name, part];
}

function titleOf(part) {
  return part.includes(".") ? part : `${part}/`;
}

function isTest(path) {
  return /\.test(\.helper)?\.tsx?$/.test(path);
}

/** The package of this repository that an import names: its folder, and the rest of the specifier. */
function siblingOf(specifier) {
  const match = /^(?:@wirescope\/([^/]+)|wirescope)(\/.*)?$/.exec(specifier);
  // The command is the only package without a scope, because users install it by its name.
  return match === null ? undefined : { folder: match[1] ?? "cli", rest: match[2] ?? "" };
}

/** An entry whose exports change without notice. */
function isInternal(specifier) {
  return /^\/internal(\/|$)/.test(siblingOf(specifier)?.rest ?? "");
}

/** Examples and documentation: users copy their imports. */
function isPublic(path) {
  return path.startsWith("examples/") || path.endsWith(".md");
}

/** The package that a path belongs to; tests and scripts belong to none. */
function workspaceOf(path) {
  return /^(packages\/[^/]+|benchmarks|conformance|examples\/[^/]+)\//.exec(path)?.[1];
}

function sources(directory) {
  if (!existsSync(join(root, directory))) return [];
  if (statSync(join(root, directory)).isFile()) return [directory];
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory()) return ["node_modules", "dist", "gen"].includes(entry.name) ? [] : sources(path);
    return /\.(ts|tsx|mjs|js|md)$/.test(entry.name) ? [path] : [];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
