import { execFileSync } from "node:child_process";
import { chmod, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonNodeToValue, parseJsonWithPositions } from "../config/json-with-positions.js";
import { parseConfiguration } from "../config/parse-configuration.js";
import { canonicalJson, type EntryFingerprint, fingerprintEntry } from "./fingerprint-entry.js";
import { createFolder, entryOf, entryOfText } from "./trust.test.helper.js";

async function filesOf(entry: unknown, pluginRoot: string): Promise<string[]> {
  const { files } = await fingerprintEntry(entryOf(entry), { pluginRoot });
  return files.map(({ field, path, state }) => `${field} ${path} ${state}`);
}

function take(text: string): Promise<EntryFingerprint> {
  return fingerprintEntry(entryOfText(`{"s": ${text}}`), { pluginRoot: "/nowhere" });
}

const word = fc.string({ minLength: 1, maxLength: 6 });
const stdio = fc.record(
  {
    command: fc.string({ minLength: 1, maxLength: 6 }).filter((text) => text.trim() !== ""),
    args: fc.array(word, { maxLength: 3 }),
    env: fc.dictionary(fc.constantFrom("A", "B", "__proto__"), word, { maxKeys: 3 }),
    other: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: ["command"] },
);

test("[TS-D-TRUST-3] the order of keys and white space do not matter", async () => {
  await fc.assert(
    fc.asyncProperty(stdio, async (value) => {
      const turned = Object.fromEntries(Object.entries(value).toReversed());
      expect(await take(JSON.stringify(turned, null, 3))).toEqual(await take(JSON.stringify(value)));
    }),
    { numRuns: 50 },
  );
});

test("[TS-D-TRUST-1, TS-D-TRUST-3] any change of the entry changes the fingerprint, including unknown fields", async () => {
  await fc.assert(
    fc.asyncProperty(stdio, stdio, fc.constantFrom("command", "args", "env", "other"), async (value, more, field) => {
      const [a, b] = [JSON.stringify(value), JSON.stringify({ ...value, [field]: more[field] })];
      const isSame = (await take(a)).digest === (await take(b)).digest;
      expect(isSame).toBe(isDeepStrictEqual(JSON.parse(a), JSON.parse(b)));
    }),
    { numRuns: 100 },
  );
});

test.each([
  ['{"command": "a", "args": ["x", "y"]}', '{"command": "a", "args": ["y", "x"]}'],
  ['{"command": "a", "args": ["x y"]}', '{"command": "a", "args": ["x", "y"]}'],
  ['{"command": "a"}', '{"command": "a", "args": []}'],
  ['{"command": "a"}', '{"command": "a", "type": "stdio"}'],
  ['{"command": "a", "env": {"A": "${X}"}}', '{"command": "a", "env": {"A": "${Y}"}}'],
  ['{"command": "a", "env": {"A": "1"}}', '{"command": "a", "env": {"A": "2"}}'],
  ['{"command": "a", "env": {"__proto__": "1"}}', '{"command": "a", "env": {"__proto__": "2"}}'],
  ['{"command": "a", "x": {"y": [1]}}', '{"command": "a", "x": {"y": [2]}}'],
  ['{"type": "http", "url": "https://a.example"}', '{"type": "sse", "url": "https://a.example"}'],
  ['{"type": "http", "url": "https://a.example"}', '{"type": "http", "url": "https://a.example/"}'],
  ['{"type": "http", "url": "https://a.example"}', '{"type": "http", "url": "https://a.example", "headers": {}}'],
  [
    '{"type": "http", "url": "https://a.example", "oauth": {"resource": "https://a.example"}}',
    '{"type": "http", "url": "https://a.example", "oauth": {"resource": false}}',
  ],
  [
    '{"type": "http", "url": "https://a.example", "oauth": {"authorizeParameters": {"audience": "a"}}}',
    '{"type": "http", "url": "https://a.example", "oauth": {"authorizeParameters": {"audience": "b"}}}',
  ],
])("[TS-D-TRUST-3, TS-D-OAUTH-8] %s and %s have different fingerprints", async (a, b) => {
  expect((await take(a)).digest).not.toBe((await take(b)).digest);
});

test("[TS-D-TRUST-3] the fingerprint does not depend on the folder", async () => {
  const [here, there] = [await createFolder(), await createFolder()];
  const entry = entryOf({ command: "node", args: ["${HOST_PLUGIN_ROOT}/server.js"] });
  for (const folder of [here, there]) await folder.write("server.js", "serve()");
  const one = await fingerprintEntry(entry, { pluginRoot: here.path });
  expect(one).toEqual(await fingerprintEntry(entry, { pluginRoot: there.path }));
  expect(one.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
});

test.each([
  ["a helper by the root", { type: "http", url: "https://a.example", headersHelper: "${HOST_PLUGIN_ROOT}/bin/x.sh" }],
  ["a relative helper", { type: "http", url: "https://a.example", headersHelper: "bin/x.sh" }],
  ["a command by the root", { command: "${HOST_PLUGIN_ROOT}/bin/x.sh" }],
  ["a relative command", { command: "./bin/x.sh" }],
  ["an argument by the root", { command: "sh", args: ["${HOST_PLUGIN_ROOT}/bin/x.sh"] }],
  ["a relative argument", { command: "sh", args: ["bin/x.sh"] }],
  ["the value of an option", { command: "sh", args: ["--init-file=${HOST_PLUGIN_ROOT}/bin/x.sh"] }],
  ["an option without a space", { command: "node", args: ["-r./bin/x.sh"] }],
  ["a URL of a file", { command: "node", args: ["--import", "file://${HOST_PLUGIN_ROOT}/bin/x.sh"] }],
  ["a word of a script", { command: "sh", args: ["-c", "exec '${HOST_PLUGIN_ROOT}/bin/x.sh' --fast"] }],
  ["one of a list", { command: "sh", args: ["${HOST_PLUGIN_ROOT}/none:${HOST_PLUGIN_ROOT}/bin/x.sh"] }],
  ["a default", { command: "sh", args: ["${SCRIPT:-bin/x.sh}"] }],
  ["the end of a path that a variable starts", { command: "sh", args: ["${PWD}/bin/x.sh"] }],
  ["a variable of the process", { command: "node", env: { NODE_OPTIONS: "--require ./bin/x.sh" } }],
  ["what a PATH of the entry finds", { command: "x.sh", env: { PATH: "${PWD}/bin:${PATH}" } }],
  ["a default that is the command", { command: "${RUNNER:-bin/x.sh}" }],
])("[TS-D-TRUST-1, TS-D-TRUST-3] the fingerprint includes the content of %s", async (_, value) => {
  const { path: pluginRoot, write } = await createFolder();
  const entry = entryOf(value);
  const digest = async (): Promise<string> => (await fingerprintEntry(entry, { pluginRoot })).digest;
  await write("bin/x.sh", "echo 1", 0o755);
  const before = await digest();
  expect(await digest()).toBe(before);
  await write("bin/x.sh", "echo 2", 0o755);
  const after = await digest();
  expect(after).not.toBe(before);
  await rm(join(pluginRoot, "bin/x.sh"));
  const missing = await digest();
  expect([before, after]).not.toContain(missing);
  await write("bin/x.sh", "echo 1", 0o755);
  expect(await digest()).toBe(before);
});

test("[TS-D-TRUST-3] a missing helper is a separate state, and creating it is a change", async () => {
  const { path, write } = await createFolder();
  const value = { type: "http", url: "https://a.example", headersHelper: "x.sh" };
  expect(await filesOf(value, path)).toEqual(["headersHelper x.sh missing"]);
  await mkdir(join(path, "x.sh"));
  expect(await filesOf(value, path)).toEqual(["headersHelper x.sh directory"]);
  await rm(join(path, "x.sh"), { recursive: true });
  await write("x.sh", "");
  expect(await filesOf(value, path)).toEqual(["headersHelper x.sh content"]);
});

test("[TS-D-TRUST-3] a file that the arguments certainly reference counts even if it is missing", async () => {
  const { path } = await createFolder();
  expect(await filesOf({ command: "sh", args: ["-c", "${RUN} ./none none2"] }, path)).toEqual(["args[1] none missing"]);
});

test("[TS-D-TRUST-3] links are followed into and out of the plugin root, and dangling links are reported", async () => {
  const [{ path, write }, outside] = [await createFolder(), await createFolder()];
  const target = await outside.write("target.sh", "1");
  await symlink(target, join(path, "out.sh"));
  await symlink(join(path, "none"), join(path, "dangling.sh"));
  await write("inside.sh", "1");
  await symlink(join(path, "inside.sh"), join(outside.path, "in.sh"));
  const value = { command: "sh", args: ["out.sh", "./dangling.sh", join(outside.path, "in.sh"), target] };
  expect(await filesOf(value, path)).toEqual([
    "args[0] out.sh content",
    "args[1] dangling.sh missing",
    `args[2] ${join(outside.path, "in.sh")} content`,
  ]);
  const before = await fingerprintEntry(entryOf(value), { pluginRoot: path });
  await writeFile(target, "2");
  expect((await fingerprintEntry(entryOf(value), { pluginRoot: path })).digest).not.toBe(before.digest);
});

test("[TS-D-TRUST-3] a plugin root that is a link, or has spaces and colons in its path, is supported", async () => {
  const { path, write } = await createFolder();
  await write("my plugin: 1,5/x.js", "1");
  await symlink(join(path, "my plugin: 1,5"), join(path, "link"));
  const value = { command: "node", args: ["--import=${HOST_PLUGIN_ROOT}/x.js", join(path, "my plugin: 1,5", "x.js")] };
  expect(await filesOf(value, join(path, "my plugin: 1,5"))).toEqual(["args[0] x.js content", "args[1] x.js content"]);
  expect(await filesOf(value, join(path, "link"))).toEqual([
    "args[0] x.js content",
    `args[1] ${join(path, "my plugin: 1,5", "x.js")} content`,
  ]);
});

test("system programs and plain words are not included, so that system updates are not changes", async () => {
  const { path, write } = await createFolder();
  await write("node", "a file of that name is not what PATH finds");
  await mkdir(join(path, "src"));
  for (const command of ["node", process.execPath, "/bin/sh"]) {
    expect(await filesOf({ command, args: ["-y", "src", "@acme/server", "https://a.example/x"] }, path)).toEqual([]);
  }
});

test("[TS-D-TRUST-3] a path made of a variable and more text makes the fingerprint incomplete", async () => {
  const { path } = await createFolder();
  const isComplete = async (entry: unknown): Promise<boolean> =>
    (await fingerprintEntry(entryOf(entry), { pluginRoot: path })).isComplete;
  expect(await isComplete({ command: "${PWD}/bin/x.sh" })).toBe(false);
  expect(await isComplete({ type: "http", url: "https://a.example", headersHelper: "${A}/x" })).toBe(false);
  expect(await isComplete({ command: "${PYTHON}" })).toBe(true);
  expect(await isComplete({ command: "node", args: ["${A}/x"] })).toBe(true);
});

test("[TS-D-TRUST-3] files that are too large, too many or special never count as checked", async () => {
  const { path, write } = await createFolder();
  await write("big.bin", "x".repeat(1_000));
  await write("small.sh", "1");
  const entry = entryOf({ command: "./small.sh", args: ["./big.bin"] });
  const taken = await fingerprintEntry(entry, { pluginRoot: path, maxBytes: 500 });
  expect(taken.files.map(({ state }) => state)).toEqual(["too-large", "content"]);
  expect(taken.isComplete).toBe(false);
  expect((await fingerprintEntry(entry, { pluginRoot: path, maxBytes: 1_001 })).isComplete).toBe(true);
  expect((await fingerprintEntry(entry, { pluginRoot: path, maxBytes: 1_000 })).isComplete).toBe(false);
  const many = entryOf({ command: "x", args: Array.from({ length: 600 }, (_, index) => `./f${index}`) });
  expect((await fingerprintEntry(many, { pluginRoot: path })).isComplete).toBe(false);
});

test.runIf(process.platform !== "win32")("a pipe in place of a helper does not block", async () => {
  const { path } = await createFolder();
  const makePipe = "mkfifo";
  execFileSync(makePipe, [join(path, "x.sh")]);
  expect(await filesOf({ type: "http", url: "https://a.example", headersHelper: "x.sh" }, path)).toEqual([
    "headersHelper x.sh special",
  ]);
});

test.runIf(process.getuid?.() !== 0)("[TS-D-TRUST-3] an unreadable file makes the fingerprint incomplete", async () => {
  const { path, write } = await createFolder();
  await chmod(await write("x.sh", "1"), 0o111);
  expect(await filesOf({ command: "./x.sh" }, path)).toEqual(["command x.sh unreadable"]);
});

test("[TS-D-TRUST-3] a loop of links makes the fingerprint incomplete", async () => {
  const { path } = await createFolder();
  await symlink(join(path, "a"), join(path, "b"));
  await rename(join(path, "b"), join(path, "a"));
  const { files, isComplete } = await fingerprintEntry(entryOf({ command: "./a" }), { pluginRoot: path });
  expect([files[0]?.state, isComplete]).toEqual(["unreadable", false]);
});

test("[TS-D-TRUST-1] files that determine what a package runner runs are included, although no argument references them", async () => {
  const { path: root } = await createFolder();
  const entry = { command: "npx", args: ["-y", "@acme/server@1.2.3"] };
  expect(await filesOf(entry, root)).toEqual([]);
  await mkdir(join(root, "node_modules", ".bin"), { recursive: true });
  await writeFile(join(root, "node_modules", ".bin", "server"), "#!/bin/sh\n");
  await writeFile(join(root, ".npmrc"), "registry=https://registry.example/\n");
  await writeFile(join(root, "uv.toml"), "\n");
  expect(await filesOf(entry, root)).toEqual(["command .npmrc content", "command node_modules directory"]);
  expect(await filesOf({ command: "uvx", args: ["server"] }, root)).toEqual(["command uv.toml content"]);
  expect(await filesOf({ command: "node", args: ["x"] }, root)).toEqual([]);
});

function shuffled(value: unknown, order: (keys: string[]) => string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, order));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(order(Object.keys(value)).map((key) => [key, shuffled(Object(value)[key], order)]));
}

const json = fc.jsonValue({ maxDepth: 4 });
// Few values, so that two are often equal or similar.
const near = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 0, -0, 1, "", "0", "a"),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("value"), { maxKeys: 2, noNullPrototype: true }),
  ),
})).value;

test("[TS-D-TRUST-3] the order of keys makes no difference, at any depth", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonicalJson(shuffled(value, (keys) => keys.toReversed()))).toBe(canonicalJson(value));
      expect(canonicalJson(shuffled(value, (keys) => keys.toSorted()))).toBe(canonicalJson(value));
    }),
  );
});

test("[TS-D-TRUST-3] two values have the same canonical form only if they are equal", () => {
  fc.assert(
    fc.property(near, near, (a, b) => {
      expect(canonicalJson(a) === canonicalJson(b)).toBe(isDeepStrictEqual(a, b));
    }),
    { numRuns: 500 },
  );
});

test("[TS-D-TRUST-3] the order of a list, a key named __proto__ and every kind of value make a difference", () => {
  const texts = [
    '["a", "b"]',
    '["b", "a"]',
    '["a,b"]',
    '["a", ["b"]]',
    '{"__proto__": 1}',
    '{"__proto__": 2}',
    "{}",
    "[]",
    "null",
    '"null"',
    "0",
    "-0",
    '"0"',
    "1e999",
    "-1e999",
    '"\\ud800"',
    '"\\ud801"',
    '"\\ufffd"',
    '"\u00e9"',
    '"e\u0301"',
    '{"a": {"b": 1}}',
    '{"a": 1, "b": 1}',
  ];
  const forms = texts.map((text) => {
    const { root } = parseJsonWithPositions(text);
    return canonicalJson(root && jsonNodeToValue(root));
  });
  expect(new Set(forms).size).toBe(texts.length);
});

test("values that JSON cannot represent are rejected", () => {
  expect(() => canonicalJson(undefined)).toThrow(TypeError);
  expect(() => canonicalJson({ a: Number.NaN })).toThrow(TypeError);
});

test("[TS-D-TRUST-1] files in a working directory that a variable with a default decides are part of the fingerprint", async () => {
  const { path, write } = await createFolder();
  await write("sub/server.js", "1");
  await write("deep/sub/other.js", "1");
  const entry = { command: "node", args: ["server.js"] };
  expect(await filesOf({ ...entry, cwd: "${FOLDER:-sub}" }, path)).toEqual(["args[0] sub/server.js content"]);
  const named = { command: "node", args: ["other.js"], cwd: "${HOME}/project/deep/sub" };
  expect(await filesOf(named, path)).toEqual(["args[0] deep/sub/other.js content"]);
});

test.each(["../server", "${HOST_PLUGIN_ROOT}/../server"])(
  "[TS-D-TRUST-3] files in the working directory %s, outside the plugin root, are part of the fingerprint",
  async (cwd) => {
    const { path, write } = await createFolder();
    await write("plugin/README.md", "");
    await write("server/main.js", "1");
    await write("server/lib/tool.js", "1");
    const entry = { command: "node", args: ["main.js"], cwd };
    expect(await filesOf(entry, join(path, "plugin"))).toEqual(["args[0] ../server/main.js content"]);
    const other = { command: "node", args: ["lib/tool"], cwd };
    expect(await filesOf(other, join(path, "plugin"))).toEqual(["args[0] ../server/lib/tool.js content"]);
    // A user's folder does not belong to the project.
    expect(await filesOf({ ...entry, cwd: join(path, "server") }, join(path, "plugin"))).toEqual([]);
  },
);

test("[TS-D-TRUST-3] an entry in which $NAME or {env:NAME} is a variable has another fingerprint than one in which it is text", async () => {
  const text = JSON.stringify({ mcpServers: { s: { command: "a", args: ["x$TOKEN {env:TOKEN}"] } } });
  const digests = ["/r/mcp.json", "/r/.gemini/settings.json", "/r/opencode.json"].map(async (file) => {
    const [entry] = parseConfiguration(text, { file }).entries;
    if (entry === undefined) throw new Error("No entry.");
    return (await fingerprintEntry(entry, { pluginRoot: "/nowhere" })).digest;
  });
  expect(new Set(await Promise.all(digests)).size).toBe(3);
});
