import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const file = fileURLToPath(new URL("../packages/cli/bundle/wirescope.cjs", import.meta.url));
const program = join(dirname(file), "..", "bin", "wirescope.js");
const text = readFileSync(file, "utf8");

/** What Node writes to the folder of NODE_V8_COVERAGE. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** The modules of the bundle by name, with the modules that each loads first. */
const modules = new Map(
  text
    .split(/(?=\binit_\w+=__esm\(\{")/)
    .slice(1)
    .map((part) => {
      const [, name = "", path = ""] = /^(init_\w+)=__esm\(\{"([^"]+)"/.exec(part) ?? [];
      const needed = [...part.matchAll(/[;{}](init_\w+)\(\)(?=[;}])/g)].map(([, needs = ""]) => needs);
      return [name, { path, needed }] as const;
    }),
);

/** The paths of a module and of everything that it loads. */
function loadedWith(path: string): string[] {
  const names = new Set([...modules].filter(([, module]) => module.path.endsWith(path)).map(([name]) => name));
  for (const name of names) for (const needed of modules.get(name)?.needed ?? []) names.add(needed);
  return [...names].map((name) => modules.get(name)?.path ?? "");
}

// One module of each part.
const messages = "@bufbuild/protobuf/dist/esm/registry.js";
const router = "@connectrpc/connect/dist/esm/router.js";
const isOf = (part: string) => (path: string) => path.endsWith(part);

test("starts the gateway without loading the protobuf runtime and the Connect router", () => {
  const loaded = loadedWith("packages/cli/src/up/run-up.ts");
  expect(loaded.some(isOf("packages/gateway/src/run-gateway.ts"))).toBe(true);
  expect(loaded.some(isOf("packages/channelz/src/registry/registry.ts"))).toBe(true);
  for (const part of [messages, router]) expect(loaded.filter(isOf(part))).toEqual([]);
});

test("starts without loading the SDK, the parsers of configurations, connections and HTTP clients", () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-coverage-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync(process.execPath, [program, "help"], { env: { ...process.env, NODE_V8_COVERAGE: folder } });
  const [report = ""] = readdirSync(folder);
  const coverage: Coverage = JSON.parse(readFileSync(join(folder, report), "utf8"));
  const bundle = coverage.result.find(({ url }) => url.endsWith("/bundle/wirescope.cjs"));
  // A module is a function that is named by its path.
  const loaded = bundle?.functions.filter(({ ranges }) => ranges[0]?.count !== 0).map((run) => run.functionName) ?? [];
  expect(loaded).toContain("packages/cli/src/options.ts");
  const connects =
    /@modelcontextprotocol|zod|undici|jsonc-parser|smol-toml|tool-server\/dist\/(connection|auth|config)\//;
  expect(loaded.filter((name) => connects.test(name))).toEqual([]);
});

test("fails if the process ends before the command has a result", () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-unsettled-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = join(folder, "files.cjs");
  writeFileSync(
    files,
    `const files = require("node:fs/promises");
    for (const name of ["open", "readFile", "stat", "lstat", "realpath"]) files[name] = () => new Promise(() => {});`,
  );
  const { status } = spawnSync(process.execPath, ["--require", files, program, "check", join(folder, "mcp.json")]);
  expect(status).toBe(1);
});

test("loads the protobuf runtime and the Connect router with the services", () => {
  const loaded = loadedWith("packages/channelz/src/listener/create-services.ts");
  for (const part of [messages, router]) expect(loaded.filter(isOf(part))).toHaveLength(1);
});

test("contains only ASCII characters, and is published without compiled code", () => {
  expect([...text].filter((character) => character > "\x7f")).toEqual([]);
  expect(
    readdirSync(dirname(file)).filter(
      (name) => !/^(\.built|clock-server\.mjs|top-screen\.js|wirescope\.cjs(\.map|\.LEGAL\.txt)?)$/.test(name),
    ),
  ).toEqual([]);
});

test("contains no import(), which fails in code from V8's cache", () => {
  expect(text).not.toMatch(/\bimport\(/);
});
