import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = fileURLToPath(new URL("../scripts/check-imports.mjs", import.meta.url));
let workspace: string;

beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), "check-imports-"));
});

afterEach(async () => {
  await rm(workspace, { recursive: true });
});

interface Violation {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly advice: string;
}
const { findViolations } = (await import(script)) as { findViolations(checkout: string): Violation[] };

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), text);
  }
}

/** The violations in a workspace with these files, each with its position; all say what to do. */
async function check(files: Record<string, string>): Promise<string[]> {
  await write(files);
  return findViolations(workspace).map(({ path, line, rule, advice }) => {
    expect(advice).toMatch(/^\S.*\.$/);
    return `${path}:${line}: ${rule}`;
  });
}

function run(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

test("[CZ-D-CLIENT-4] all imports of this workspace follow the declared directions, including those of the browser client", async () => {
  expect(await run()).toEqual({ code: 0, output: "" });
});

test("prints each violation with what to do, and exits with 1", async () => {
  await write({ "packages/cli/src/a.ts": 'import { main } from "wirescope/internal";\n' });
  expect(await run(workspace)).toEqual({
    code: 1,
    output: expect.stringMatching(/^packages\/cli\/src\/a\.ts:1: .*\n {2}\S.*\.\n\n1 violation/),
  });
});

test("accepts imports along the declared directions", async () => {
  const found = await check({
    "packages/channelz/src/index.ts": 'export { read } from "./client/read.js";\n',
    "packages/channelz/src/client/read.ts": 'import type { Source } from "../source.js";\nexport const read = 1;\n',
    "packages/channelz/src/source.ts": "export interface Source {}\n",
    "packages/channelz/src/client/read.test.ts": 'import { add } from "../registry/add.js";\n',
    "packages/tool-server/src/a.test.ts": 'import { startQuirks } from "@wirescope/quirks";\n',
    "packages/tool-server/src/a.test.helper.ts": 'import { startQuirks } from "@wirescope/quirks";\n',
    "packages/instrument/src/tools.ts": 'import type { Event } from "@wirescope/tool-server";\n',
    "packages/cli/src/main.ts": 'import { read } from "@wirescope/channelz";\nimport net from "node:net";\n',
    "packages/ui/src/page.ts": 'import { connect } from "@wirescope/channelz/client";\n',
    "test/e2e/all.test.ts": 'import { read } from "@wirescope/channelz";\nimport { main } from "wirescope/internal";\n',
  });
  expect(found).toEqual([]);
});

const violations: Record<string, { path: string; text: string; says: string }> = {
  "a package that imports one above it": {
    path: "packages/channelz/src/a.ts",
    text: '\nimport { main } from "wirescope/internal";\n',
    says: "packages/channelz/src/a.ts:2: channelz must not import cli",
  },
  "an import that is spread over lines": {
    path: "packages/tool-server/src/a.ts",
    text: 'import {\n  read,\n  type Source,\n} from "@wirescope/channelz";\n',
    says: "packages/tool-server/src/a.ts:1: tool-server must not import channelz",
  },
  "what only tests may import": {
    path: "packages/tool-server/src/a.ts",
    text: 'import { startQuirks } from "@wirescope/quirks";\n',
    says: "packages/tool-server/src/a.ts:1: tool-server may import quirks only in its tests",
  },
  "a re-export": {
    path: "packages/channelz/src/a.ts",
    text: 'export * from "@wirescope/gateway";\n',
    says: "packages/channelz/src/a.ts:1: channelz must not import gateway",
  },
  "an import at run time": {
    path: "packages/channelz/src/a.ts",
    text: 'export const load = () => import("@wirescope/gateway");\n',
    says: "packages/channelz/src/a.ts:1: channelz must not import gateway",
  },
  "a value taken where only types may be": {
    path: "packages/instrument/src/a.ts",
    text: 'import { connect } from "@wirescope/tool-server";\n',
    says: "packages/instrument/src/a.ts:1: instrument takes only types from tool-server",
  },
  "the page importing more than the client": {
    path: "packages/ui/src/a.ts",
    text: 'import { createRegistry } from "@wirescope/channelz";\n',
    says: "packages/ui/src/a.ts:1: ui may import only @wirescope/channelz/client",
  },
  "a relative import into another package": {
    path: "packages/cli/src/a.ts",
    text: 'import { read } from "../../channelz/src/index.js";\n',
    says: "packages/cli/src/a.ts:1: A relative import crosses from packages/cli to packages/channelz",
  },
  "a relative import from the tests into a package": {
    path: "test/a.test.ts",
    text: 'import { read } from "../packages/channelz/src/index.js";\n',
    says: "test/a.test.ts:1: A relative import crosses from outside the packages to packages/channelz",
  },
  "a folder that imports one above it": {
    path: "packages/channelz/src/service/a.ts",
    text: 'import { listen } from "../listener/listen.js";\n',
    says: "packages/channelz/src/service/a.ts:1: Within channelz, service/ must not import listener/",
  },
  "an observer of the gateway that something else than the list of observers imports": {
    path: "packages/gateway/src/run-gateway.ts",
    text: 'import { log } from "./observers/call-log/log.js";\n',
    says: "packages/gateway/src/run-gateway.ts:1: Within gateway, run-gateway.ts must not import observers/call-log/",
  },
  "a file shared by the folders that imports one of them": {
    path: "packages/tool-server/src/clock.ts",
    text: 'import type { Vault } from "./auth/vault/vault.js";\n',
    says: "packages/tool-server/src/clock.ts:1: Within tool-server, clock.ts must not import auth/vault/",
  },
  "a folder within a folder that imports one above it": {
    path: "packages/tool-server/src/auth/vault/a.ts",
    text: 'import { createOAuthLogin } from "../oauth/login/oauth-login.js";\n',
    says: "packages/tool-server/src/auth/vault/a.ts:1: Within tool-server, auth/vault/ must not import auth/oauth/login/",
  },
  "a folder without directions": {
    path: "packages/gateway/src/novel/a.ts",
    text: "export const a = 1;\n",
    says: "packages/gateway/src/novel/a.ts:1: The folder novel/ of gateway has no row",
  },
  "an example that imports what is internal": {
    path: "examples/a/main.js",
    text: 'import { parseUrl } from "@wirescope/channelz/internal";\n',
    says: 'examples/a/main.js:1: "@wirescope/channelz/internal" is for the packages of this repository',
  },
  "a page of documentation that imports what is internal": {
    path: "docs/page.md",
    text: '```js\nimport { suggest } from "@wirescope/tool-server/internal/suggest";\n```\n',
    says: 'docs/page.md:2: "@wirescope/tool-server/internal/suggest" is for the packages of this repository',
  },
  "a package that imports itself by name": {
    path: "packages/cli/src/a.ts",
    text: 'import { main } from "wirescope/internal";\n',
    says: "packages/cli/src/a.ts:1: cli imports itself by name",
  },
  "a package without directions": {
    path: "packages/novel/src/a.ts",
    text: 'import { read } from "@wirescope/channelz";\n',
    says: "packages/novel/src/a.ts:1: The package novel has no directions yet",
  },
};

for (const [name, { path, text, says }] of Object.entries(violations)) {
  test(`rejects ${name}, with the position and what to do`, async () => {
    expect(await check({ [path]: text })).toContainEqual(expect.stringContaining(says));
  });
}

/** Two folders of each package; the first must not import the second. */
const orderedFolders: readonly (readonly [name: string, from: string, to: string])[] = [
  ["channelz", "registry", "service"],
  ["instrument", "http", "http2"],
  ["tool-server", "config", "trust"],
  ["tool-server", "auth/oauth/tokens", "auth/oauth/sign-in"],
  ["tool-server", "why/rank", "why/walk"],
  ["gateway", "servers", "endpoint"],
  ["gateway", "admin/messages", "admin/client"],
  ["cli", "output", "check"],
  ["ui", "calls", "tools"],
  ["quirks", "tool-server", "command"],
];

test.each(orderedFolders)(
  "rejects an import of types against the order of the folders of %s, from %s to %s",
  async (name, from, to) => {
    // A folder without a row, which may be imported by all, would be reported as well.
    const up = "../".repeat(from.split("/").length);
    const found = await check({
      [`packages/${name}/src/${from}/a.ts`]: `import type { B } from "${up}${to}/b.js";\n`,
      [`packages/${name}/src/${to}/b.ts`]: "export interface B {}\n",
    });
    expect(found).toEqual([`packages/${name}/src/${from}/a.ts:1: Within ${name}, ${from}/ must not import ${to}/.`]);
  },
);

test("checks the order of the folders of every package", async () => {
  const packages = await readdir(fileURLToPath(new URL("../packages", import.meta.url)));
  expect(packages.filter((name) => !orderedFolders.some(([ordered]) => ordered === name))).toEqual([]);
});

test("rejects a cycle of files that import only types of each other, and shows the cycle", async () => {
  const found = await check({
    "packages/cli/src/a.ts": 'import type { B } from "./b.js";\nexport interface A { b: B }\n',
    "packages/cli/src/b.ts": '\nimport type { C } from "./c.js";\nexport interface B { c: C }\n',
    "packages/cli/src/c.ts": 'export type { A } from "./a.js";\nexport interface C {}\n',
  });
  expect(found).toEqual([
    "packages/cli/src/a.ts:1: A cycle of imports: packages/cli/src/a.ts -> packages/cli/src/b.ts -> packages/cli/src/c.ts -> packages/cli/src/a.ts.",
  ]);
});

test("treats a file that loads another at run time, which imports a type of it, as a cycle", async () => {
  const found = await check({
    "packages/cli/src/a.ts": 'export interface A {}\nexport const load = () => import("./b.js");\n',
    "packages/cli/src/b.ts": 'import type { A } from "./a.js";\nexport const b = (a: A) => a;\n',
  });
  expect(found).toEqual([
    "packages/cli/src/a.ts:2: A cycle of imports: packages/cli/src/a.ts -> packages/cli/src/b.ts -> packages/cli/src/a.ts.",
  ]);
});

test("rejects a Node.js module anywhere below the entry for browsers", async () => {
  const found = await check({
    "packages/channelz/src/client/index.ts": 'export { read } from "./read.js";\n',
    "packages/channelz/src/client/read.ts": 'import { deep } from "../deep.js";\nexport const read = deep;\n',
    "packages/channelz/src/deep.ts": 'import { isIP } from "node:net";\nexport const deep = isIP("::1");\n',
  });
  expect(found).toContainEqual(
    expect.stringContaining('packages/channelz/src/deep.ts:1: "node:net" does not run in a browser'),
  );
});
