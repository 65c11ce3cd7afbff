import { expect, test } from "vitest";
import type { Command } from "../store/commands.js";
import { rankCommands } from "./rank-commands.js";

const commandOf = (title: string, group = "View", detail?: string): Command => {
  return { id: title, title, group, detail, run: () => {} };
};

test("ranks a command whose title starts with the query before others", () => {
  const commands = [commandOf("Reconnect notes"), commandOf("Explain", "View", "notes"), commandOf("notes", "Server")];
  expect(rankCommands(commands, "notes").map(({ title }) => title)).toEqual(["notes", "Reconnect notes", "Explain"]);
});

test("requires every word of the query, in any order", () => {
  const commands = [commandOf("Sign in to notes"), commandOf("Sign in to weather")];
  expect(rankCommands(commands, "notes sign").map(({ title }) => title)).toEqual(["Sign in to notes"]);
  expect(rankCommands(commands, "nothing")).toEqual([]);
});
