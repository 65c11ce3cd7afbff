import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyCharacter } from "../any-character.test.helper.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import { parseEnvFile, readVariables, withEnvFile } from "./env-file.js";
import { withEntry } from "./examples.test.helper.js";
import { parseConfiguration } from "./parse-configuration.js";
import { type ResolvedEntry, resolveEntry } from "./substitute-entry.js";

function read(text: string): Record<string, string> {
  const { variables, findings } = parseEnvFile(text, ".env");
  expect(findings).toEqual([]);
  return { ...variables };
}

test("[TS-STDIO-2] reads names and values, and skips comments and export", () => {
  expect(read("\ufeff# a comment\n\nA=1\r\nexport B = two words  # why\n  C=\nD=a#b\n")).toEqual({
    A: "1",
    B: "two words",
    C: "",
    D: "a#b",
  });
});

test("reads every kind of line break, and a byte-order mark only at the start", () => {
  expect(read("\ufeffA=1\rB=2\r\nC=3\nD=a\ufeffb")).toEqual({ A: "1", B: "2", C: "3", D: "a\ufeffb" });
  expect(read("A=a\ufeffb")).toEqual({ A: "a\ufeffb" });
});

test("reads a comment in place of a value, several spaces after export, and a backslash before a single quote", () => {
  expect(read("A= # nothing\nexport   B=2\nC='x\\'\nD=1")).toEqual({ A: "", B: "2", C: "x\\", D: "1" });
});

test("preserves white space and symbols in quotes, across several lines", () => {
  expect(read(`A=" a # b "\nB='x\\ny $C'\nC="1\\n2\\t\\"\\\\\\$"\nD="one\ntwo" # end\nE=last`)).toEqual({
    A: " a # b ",
    B: "x\\ny $C",
    C: '1\n2\t"\\$',
    D: "one\ntwo",
    E: "last",
  });
});

test("expands nothing, and uses the last line for a name", () => {
  expect(read("A=1\nB=$A ${A} `id` $(id)\nA=2")).toEqual({ A: "2", B: "$A ${A} `id` $(id)" });
});

test("reports an invalid line by number, without its content", () => {
  const { variables, findings } = parseEnvFile('s3cret\nA="s3cret\nB=1\nC="x" s3cret\n1D=s3cret', "x/.env");
  expect({ ...variables }).toEqual({ B: "1" });
  expect(findings.map(({ line, file, code }) => `${file}:${line} ${code}`)).toEqual([
    "x/.env:1 env-file-syntax",
    "x/.env:2 env-file-syntax",
    "x/.env:4 env-file-syntax",
    "x/.env:5 env-file-syntax",
  ]);
  expect(JSON.stringify(findings)).not.toContain("s3cret");
});

test.each([
  ["A", "The line is not NAME=value.", "Write NAME=value, or start a comment with #."],
  ["A='b", "The value of A has no closing '.", "End the value with '."],
  ['A="b\\"', 'The value of A has no closing ".', 'End the value with ".'],
  ["A='b' c", "Text follows the value of A.", "End the line after the value."],
  [
    'A="b\nB="c"',
    'The value of A has no closing " on its line, and text follows the next ".',
    'End the value with ", and the line after it.',
  ],
])("says what is wrong with the line %s", (line, message, fix) => {
  const position = { path: [], line: 2, column: 1, file: ".env" };
  expect(parseEnvFile(`\n${line}\nB=1`, ".env")).toEqual({
    variables: { B: "1" },
    findings: [{ code: "env-file-syntax", severity: "error", message, fix, ...position }],
  });
});

test("reads any value in double quotes back unchanged", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (value) => {
      fc.pre(!value.includes("\r"));
      expect(read(`A="${value.replace(/["\\$]/g, "\\$&")}"`)).toEqual({ A: value });
    }),
  );
});

test("never throws, whatever the content is", () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => parseEnvFile(text, ".env").findings.length >= 0));
});

test("counts lines across multi-line values, and parses a long file quickly", () => {
  expect(parseEnvFile('A="1\n2"\nwrong\n', ".env").findings).toMatchObject([{ line: 3 }]);
  expect(parseEnvFile("A='b\n".repeat(100_000), ".env").findings.length).toBeGreaterThan(0);
  expect(parseEnvFile(`A='${"b\n".repeat(500_000)}`, ".env").findings.length).toBeGreaterThan(0);
});

describe("files", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "env-file-"));
  });

  afterAll(() => rm(folder, { recursive: true }));

  async function write(name: string, text: string): Promise<string> {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  }

  function resolved(entry: object, secrets = createSecretRegistry()): ResolvedEntry {
    const [parsed] = parseConfiguration(withEntry(entry)).entries;
    if (parsed === undefined) throw new Error("no entry");
    return resolveEntry(parsed, { variables: {}, pluginRoot: folder, secrets });
  }

  test("adds the variables of envFile to those of env, which take precedence, except Wirescope's own", async () => {
    await write("a.env", "A=file\nB=file\nWIRESCOPE_VAULT_KEY=key\nwirescope_x=x\n");
    const entry = resolved({ command: "x", env: { A: "entry" }, envFile: "a.env" });
    expect(await withEnvFile(entry, createSecretRegistry())).toEqual({ ...entry, env: { A: "entry", B: "file" } });
  });

  test.each([
    ["a process", { command: "x", env: { A: "1" } }],
    ["a network server", { type: "http", url: "https://a.example/" }],
  ])("leaves the entry of %s without envFile as it is", async (_, entry) => {
    const before = resolved(entry);
    expect(await withEnvFile(before, createSecretRegistry())).toBe(before);
  });

  test("registers the values of envFile that are named or look like secrets, unless they are shorter than 8 characters", async () => {
    const key = "ghp_q7Zp2LxV9bTn4RkW8sYd3Hf6";
    const lines = ["API_TOKEN=eight-ch", "DB_PASSWORD=seven-c", "LEVEL=verbose-and-long", `OTHER=${key}`];
    await write("secrets.env", lines.join("\n"));
    const secrets = createSecretRegistry();
    await withEnvFile(resolved({ command: "x", envFile: "secrets.env" }), secrets);
    expect(secrets.redact(`eight-ch seven-c verbose-and-long ${key}`)).toBe(
      "[redacted] seven-c verbose-and-long [redacted]",
    );
  });

  test("rejects an entry whose envFile cannot be read or parsed, with the file and the line", async () => {
    const file = await write("wrong.env", "A=1\ns3cret\nalso wrong\n");
    await expect(withEnvFile(resolved({ command: "x", envFile: "wrong.env" }), createSecretRegistry())).rejects.toThrow(
      expect.objectContaining({
        code: "VARIABLE_UNUSABLE",
        subject: 'Cannot use server "s".',
        problem: `${file}:2: The line is not NAME=value.`,
        advice: "Write NAME=value, or start a comment with #.",
      }),
    );
    const missing = join(folder, "missing.env");
    await expect(withEnvFile(resolved({ command: "x", envFile: missing }), createSecretRegistry())).rejects.toThrow(
      expect.objectContaining({
        code: "VARIABLE_UNUSABLE",
        subject: 'Cannot use server "s".',
        problem: `${missing} cannot be read: the file does not exist.`,
        advice: "Create the file or make it readable, or correct envFile in the entry.",
      }),
    );
  });

  test("[TS-D-SUB-8] reads the files in order, the environment takes precedence, and each finding names its file", async () => {
    const one = await write("one.env", "A=one\nB=one\nC=one\n");
    const two = await write("two.env", "B=two\nC=two\nwrong\n");
    const { variables, findings } = await readVariables([one, two], { C: "environment", D: "environment" });
    expect(variables).toEqual({ A: "one", B: "two", C: "environment", D: "environment" });
    expect(findings).toMatchObject([{ file: two, line: 3, code: "env-file-syntax" }]);
    await expect(readVariables([join(folder, "missing.env")], {})).rejects.toMatchObject({
      code: "CONFIGURATION_UNREADABLE",
    });
  });
});
