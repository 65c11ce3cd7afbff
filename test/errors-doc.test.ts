import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const read = (path: string): Promise<string> => readFile(new URL(`../${path}`, import.meta.url), "utf8");

async function codesOf(path: string): Promise<string[]> {
  const union = /export type \w+ErrorCode =(.*?);\n/s.exec(await read(path))?.[1] ?? "";
  return [...union.matchAll(/\| "([A-Z_]+)"/g)].map(([, code]) => code ?? "");
}

const codes = [
  ...(await codesOf("packages/channelz/src/errors.ts")),
  ...(await codesOf("packages/tool-server/src/errors.ts")),
];
const sections = new Map(
  (await read("docs/errors.md"))
    .split("\n### ")
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", section] as const),
);

test("explains every code of ChannelzError and ToolServerError in docs/errors.md, and no other", () => {
  expect(codes.length).toBeGreaterThan(10);
  expect([...sections.keys()].sort()).toEqual(codes.toSorted());
});

test("explains each code by its meaning, its cause and what to do", () => {
  for (const [code, section] of sections) {
    expect(section.match(/^- \*\*(.*?):\*\* \S/gm), code).toEqual([
      expect.stringContaining("**Meaning:**"),
      expect.stringContaining("**Cause:**"),
      expect.stringContaining("**What to do:**"),
    ]);
  }
});
