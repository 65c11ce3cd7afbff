import { describe, expect, test } from "vitest";
import type { Offer } from "../shell/mcp/offer.js";
import { commandLine, quoteForShell } from "./command-line.js";

const offer: Offer = {
  kind: "tool",
  key: "notes__add",
  server: "notes",
  name: "add",
  title: undefined,
  description: "",
  definition: {},
};

describe("the command of a run", () => {
  test("a tool is called with its arguments as one JSON object", () => {
    expect(
      commandLine({ offer, method: "tools/call", params: { name: "notes__add", arguments: { text: "it's" } } }),
    ).toBe(`wirescope call notes add '{"text":"it'\\''s"}'`);
    expect(commandLine({ offer, method: "tools/call", params: { name: "notes__add", arguments: {} } })).toBe(
      "wirescope call notes add",
    );
  });

  test("resources and prompts have their own commands", () => {
    expect(commandLine({ offer, method: "resources/read", params: { uri: "notes://a b" } })).toBe(
      "wirescope resources notes 'notes://a b'",
    );
    expect(commandLine({ offer, method: "prompts/get", params: { arguments: { to: "Ada L" } } })).toBe(
      "wirescope prompts notes add 'to=Ada L'",
    );
  });

  test("returns no command if a name from the server would be parsed as an option", () => {
    for (const name of ["--config=evil.json", "--"]) {
      expect(commandLine({ offer: { ...offer, name }, method: "tools/call", params: {} })).toBeUndefined();
      expect(commandLine({ offer, method: "resources/read", params: { uri: name } })).toBeUndefined();
      expect(commandLine({ offer, method: "prompts/get", params: { arguments: { [name]: "" } } })).toBeUndefined();
    }
  });

  test("a word is quoted so that a shell neither expands nor splits it, on one line", () => {
    expect(quoteForShell("plain-word_1.txt")).toBe("plain-word_1.txt");
    expect(quoteForShell("$(id) `id`")).toBe("'$(id) `id`'");
    expect(quoteForShell("a\nb'\\")).toBe("$'a\\x0ab\\'\\\\'");
    expect(quoteForShell("\u202eabc\u001b")).toBe("$'\\xe2\\x80\\xaeabc\\x1b'");
    expect(quoteForShell("")).toBe("''");
  });
});
