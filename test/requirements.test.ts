import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type Citations, readCitations, readRequirementIds } from "./requirement-citations.js";

const root = fileURLToPath(new URL("..", import.meta.url));

async function readTests(): Promise<Map<string, Citations>> {
  const paths: string[] = [];
  for (const directory of ["packages", "test"]) {
    for (const path of await readdir(join(root, directory), { recursive: true })) {
      if (/(^|\/)(node_modules|dist)\//.test(path) || !path.endsWith(".ts")) continue;
      // This file contains ids that do not exist.
      if (!path.endsWith("requirements.test.ts")) paths.push(join(directory, path));
    }
  }
  return new Map(
    await Promise.all(
      paths.map(async (path) => [path, readCitations(await readFile(join(root, path), "utf8"))] as const),
    ),
  );
}

async function readTable(name: string): Promise<string[]> {
  return readRequirementIds(await readFile(join(root, "docs/requirements", name), "utf8"));
}

const requirements = [...(await readTable("channelz.md")), ...(await readTable("tool-server.md"))];
const tests = await readTests();

test("gives every requirement its own id", () => {
  expect(requirements.length).toBeGreaterThan(100);
  expect(requirements.filter((id, index) => requirements.indexOf(id) !== index)).toEqual([]);
});

/** Proven only by npm run test:page, which needs a browser. */
const provenByPage = ["TS-D-PAGE-8", "TS-D-PAGE-9", "TS-D-PAGE-11"];
/** Files with a command of their own. */
const notInNpmTest = /\.(long|page)\.test\.ts$|^test\/(packages|peers)\//;

test("proves every requirement with a test that npm test runs", () => {
  const isProvenIn = (id: string, [path, { proven }]: [string, Citations]): boolean =>
    proven.has(id) && (!notInNpmTest.test(path) || (path.endsWith(".page.test.ts") && provenByPage.includes(id)));
  const unproven = requirements.filter((id) => ![...tests].some((file) => isProvenIn(id, file)));
  const report = unproven.map((id) => {
    const mentions = [...tests].filter(([, { mentioned }]) => mentioned.has(id)).map(([path]) => path);
    return mentions.length === 0
      ? id
      : `${id} (mentioned, but not in the title of a test that runs: ${mentions.join(", ")})`;
  });
  expect(report, "No test names these ids of docs/requirements in its title, as in [CZ-PAGE-2]").toEqual([]);
});

test("defines every requirement that a test names", () => {
  const unknown = [...tests].flatMap(([path, { mentioned }]) =>
    [...mentioned].filter((id) => !requirements.includes(id)).map((id) => `${path}: ${id}`),
  );
  expect(unknown, "These ids are in no table of docs/requirements").toEqual([]);
});

describe("citations", () => {
  const proven = (text: string): string[] => [...readCitations(text).proven];

  test("reads citations from titles, one or several, on one line or more", () => {
    expect(proven('test("[CZ-A-1] one", () => {});')).toEqual(["CZ-A-1"]);
    expect(proven('  it("[CZ-A-1] [CZ-A-2] two", () => {});')).toEqual(["CZ-A-1", "CZ-A-2"]);
    expect(proven("test(`[CZ-A-1, CZ-D-B-2] two`, () => {});")).toEqual(["CZ-A-1", "CZ-D-B-2"]);
    expect(proven('test("[TS-A-1, CZ-A-1] two", () => {});')).toEqual(["TS-A-1", "CZ-A-1"]);
    expect(proven('test(\n  "[CZ-A-1] long",\n  () => {},\n);')).toEqual(["CZ-A-1"]);
    expect(proven('test.each([f(1), g(h())])("[CZ-A-1] table", () => {});')).toEqual(["CZ-A-1"]);
    expect(proven('describe("[CZ-A-1] group", () => {\n  test("[CZ-A-2] inner", () => {});\n});')).toEqual([
      "CZ-A-1",
      "CZ-A-2",
    ]);
  });

  test("does not count citations in tests that are skipped or still to do", () => {
    expect(proven('test.skip("[CZ-A-1] one", () => {});\ntest("[CZ-A-2] two", () => {});')).toEqual(["CZ-A-2"]);
    expect(proven('test.todo("[CZ-A-1] one");\ntest("[CZ-A-2] two", () => {});')).toEqual(["CZ-A-2"]);
    expect(proven('test.concurrent.skip("[CZ-A-1] one", () => {});')).toEqual([]);
    expect(
      proven('describe.skip("group", () => {\n  test("[CZ-A-1] one", () => {});\n});\ntest("[CZ-A-2] two", () => {});'),
    ).toEqual(["CZ-A-2"]);
  });

  test("does not count citations outside titles, but checks that they exist", () => {
    const citations = readCitations('// [CZ-A-1]\ntest("says", () => {\n  call("[CZ-A-2]");\n});');
    expect([...citations.proven]).toEqual([]);
    expect([...citations.mentioned]).toEqual(["CZ-A-1", "CZ-A-2"]);
  });
});
