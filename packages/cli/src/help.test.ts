import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { commands } from "./command-table.js";
import { commandText, overviewText } from "./help.js";

describe.each([50, 80, 120])("help in a terminal of %d columns", (width) => {
  test.each([
    ["the overview", overviewText(width), overviewText()] as const,
    ...commands.map((command) => [command.name, commandText(command, width), commandText(command)] as const),
  ])("fits the width and says the same: %s", (_, text, whole) => {
    // A word that is longer than the terminal is wide cannot be broken.
    const tooLong = text.split("\n").filter((line) => line.length > width && line.trim().includes(" "));
    expect(tooLong).toEqual([]);
    const words = (of: string): string[] => of.split(/\s+/);
    expect(words(text)).toEqual(words(whole));
  });
});

test("the README lists every command", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const listed = [...readme.matchAll(/^\| `wirescope ([a-z]+)/gm)].map(([, name]) => name);
  expect(commands.map(({ name }) => name).filter((name) => !listed.includes(name))).toEqual([]);
});
