import type { ServerStatus } from "@wirescope/gateway";
import { expect, test } from "vitest";
import { UsageError } from "../usage-error.js";
import { createServerCommands } from "./to-do.js";
import { toolListsOf, toolListsToDo } from "./tool-lists.js";

test("replaces the settings of a server in the file by options", () => {
  const file = { github: { allow: ["a"], deny: ["b"] }, mail: { deny: ["send"] } };
  expect(toolListsOf(file, { allow: [], deny: [] })).toEqual(file);
  expect(toolListsOf(file, { allow: ["github:search_*", "github:read"], deny: ["files:x:y"] })).toEqual({
    github: { allow: ["search_*", "read"] },
    mail: { deny: ["send"] },
    files: { deny: ["x:y"] },
  });
});

test.each(["github", ":tool", "github:"])("rejects %j as a tool filter", (text) => {
  expect(() => toolListsOf({}, { allow: [], deny: [text] })).toThrow(UsageError);
  expect(() => toolListsOf({}, { allow: [text], deny: [] })).toThrow("--allow must be server:tool");
});

test("adds filters without effect to the to-do list", () => {
  const servers = [
    { name: "github", idlePatterns: ["serach_*"] },
    { name: "mail", idlePatterns: [] },
  ] as unknown as ServerStatus[];
  const commands = createServerCommands({
    program: "wirescope",
    foundFile: undefined,
    isDemo: false,
    fileOf: () => undefined,
  });
  const lists = { github: { allow: ["serach_*"] }, gihtub: { deny: ["x"] } };
  expect(toolListsToDo(lists, servers, commands)).toEqual([
    {
      server: "gihtub",
      problem: "tools of this server are allowed or denied, but it does not exist; servers: github, mail",
      command: "wirescope check",
    },
    {
      server: "github",
      problem: '"serach_*", which is allowed or denied, matches none of its tools; list them',
      command: "wirescope tools github",
    },
  ]);
});
