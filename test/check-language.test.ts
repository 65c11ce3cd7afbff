import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createUserFolder, runCommand } from "./e2e/command.test.helper.js";

const root = fileURLToPath(new URL("../", import.meta.url));
interface Finding {
  readonly line: number;
  readonly found: string;
  readonly write: string;
}
const { checkText, checkTitles, isChecked } = (await import(join(root, "scripts/check-language.mjs"))) as {
  checkText(path: string, text: string): Finding[];
  checkTitles(path: string, text: string): Finding[];
  isChecked(path: string): boolean;
};

async function check(...args: string[]): Promise<{ code: number; output: string }> {
  const command = [join(root, "scripts/check-language.mjs"), ...args];
  return promisify(execFile)(process.execPath, command, { cwd: root }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
  );
}

test("names, comments, messages, tests and documentation contain none of the words that the glossary replaces", async () => {
  expect(await check()).toEqual({ code: 0, output: "" });
});

test("reads code, documentation, service units and shell scripts, but no images", () => {
  const paths = [
    "packages/cli/src/main.ts",
    "README.md",
    "deploy/wirescope.service",
    "scripts/ci-packages.sh",
    "a.png",
  ];
  expect(paths.filter(isChecked)).toEqual(paths.slice(0, -1));
});

test.each([
  ["a comment", "// The server answered 401.", "response, result; respond, return"],
  ["a message", 'throw new Error("There is no way to mend it.");', "fix"],
  ["a name in camel case", "const cachedToken = tokenAtHand();", "cached, available"],
  ["a name of a type", "interface CallStory {}", "event, record, context"],
  ["a name of a file", 'import { tell } from "./tell-all.js";', "report, log, emit or say"],
  ["a title of a test", 'test("whoever asks gets it", () => {});', "the caller, the client, a user who"],
  ["documentation", "Tokens are kept, for it would cost a sign-in.", "because"],
])("finds a replaced word in %s and says what to write", (_, line, write) => {
  expect(checkText("a.ts", `\n${line}\n`)).toContainEqual({ path: "a.ts", line: 2, found: expect.any(String), write });
});

test.each([
  "const started = performance.now();",
  "The response contains the headers.",
  "Undefined if there is none.",
  "const session = performServerHandshake(socket);",
])("accepts the line %s", (line) => {
  expect(checkText("a.ts", line)).toEqual([]);
});

test.each([
  ["a fragment", 'test("is used again where it does not", () => {});', "is used again where it does not"],
  ["a fragment after a requirement", "it('[id] (2) that returns headers is no cause', () => {});", "[id] (2) that"],
  ["fewer than four words", 'test("many calls", () => {});', "many calls"],
  [
    "a parametrised title",
    'test.each<[string, () => void]>([\n  ["a)", /"/],\n])(\n  "for %s",\n  () => {},\n);',
    "for %s",
  ],
  ["a conditional title", 'test.skipIf("a" in b || c(")"))("on Linux", () => {});', "on Linux"],
  ["a template", "test.runIf(isLinux)(`on Linux`, () => {});", "on Linux"],
])("finds a test title that is not a complete sentence: %s (%#)", (_, line, found) => {
  expect(checkTitles("a.test.ts", `\n${line}\n`)).toMatchObject([{ line: 2, found: expect.stringContaining(found) }]);
});

test.each([
  'test("reports an expired certificate at once", () => {});',
  'test("[id] reports an expired certificate", () => {});',
  'test.each([["is", "of"]])("takes %s for %s", () => {});',
  'expect(it.is("of"), "is").toBe(latest("has", 1));',
])("accepts the test title in %s", (line) => {
  expect(checkTitles("a.test.ts", line)).toEqual([]);
});

test("help output and error messages of the command contain none of the replaced words", async () => {
  const { home, configure } = createUserFolder();
  const file = configure({ a: { type: "http", url: "ftp://x", headers: { Authorization: "x" } } });
  const run = async (...argv: string[]): Promise<string> => {
    const { stdout, stderr } = await runCommand(argv, { env: { HOME: home } });
    return stdout + stderr;
  };
  const overview = await run("--help");
  const names = [...overview.matchAll(/^ {2}([a-z]+)\b.* {2}\S/gm)].map(([, name = ""]) => name);
  expect(names).toEqual(expect.arrayContaining(["up", "why", "login", "tree"]));
  const outputs = [
    overview,
    await run("check", file),
    await run("why", "nobody", "--config", file),
    await run("tools", "--prot"),
  ];
  for (const name of new Set(names)) if (name !== "wirescope") outputs.push(await run(name, "--help"));
  expect(checkText("output", outputs.join("\n"))).toEqual([]);
});
