import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const read = (path: string): Promise<string> => readFile(new URL(`../${path}`, import.meta.url), "utf8");

const union = /export type ChannelzErrorCode =(.*?);\n/s.exec(await read("packages/channelz/src/errors.ts"))?.[1] ?? "";
const codes = [...union.matchAll(/\| "([A-Z_]+)"/g)].map(([, code]) => code ?? "");
const sections = new Map(
  (await read("docs/errors.md"))
    .split("\n### ")
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", section] as const),
);

test("docs/errors.md explains every code of ChannelzError, and no other", () => {
  expect(codes.length).toBeGreaterThan(10);
  expect([...sections.keys()].sort()).toEqual(codes.toSorted());
});

test("each code is explained by its meaning, its cause and what to do", () => {
  for (const [code, section] of sections) {
    expect(section.match(/^- \*\*(.*?):\*\* \S/gm), code).toEqual([
      expect.stringContaining("**Meaning:**"),
      expect.stringContaining("**Cause:**"),
      expect.stringContaining("**What to do:**"),
    ]);
  }
});
