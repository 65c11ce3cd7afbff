import { describe, expect, test } from "vitest";
import { describeOptions, parseOptions } from "./options.js";
import { UsageError } from "./usage-error.js";

const table = {
  target: { type: "string", placeholder: "host:port", help: "the peer" },
  header: { type: "string", multiple: true, help: "a header" },
  kind: { type: "string", choices: ["channel", "socket"], help: "the kind" },
  json: { type: "boolean", short: "j", help: "as JSON" },
} as const;

describe("parseOptions", () => {
  test("gives every option of the table a value", () => {
    expect(parseOptions(table, [])).toEqual({
      values: { target: undefined, header: [], kind: undefined, json: false },
      positionals: [],
    });
    expect(parseOptions(table, ["--header", "a", "7", "-j", "--header=b", "--target", ":1"])).toEqual({
      values: { target: ":1", header: ["a", "b"], kind: undefined, json: true },
      positionals: ["7"],
    });
  });

  test.each([
    [["--taget", "x"], "Unknown option --taget. Did you mean --target?"],
    [["--zzz"], "Unknown option --zzz."],
    [["--kind", "server"], '--kind must be one of channel, socket, not "server".'],
    [["--json=1"], "--json takes no value."],
    [["--target", "a", "-j", "--target=b"], "--target is given more than once."],
    [["--target"], "--target requires a value: --target <host:port>."],
    [
      ["--kind", "--json"],
      "--kind requires a value: --kind <channel|socket>. Write a value that begins with a dash as --kind=-….",
    ],
  ])("refuses %j with advice", (args, message) => {
    expect(() => parseOptions(table, args)).toThrow(UsageError);
    expect(() => parseOptions(table, args)).toThrow(message);
  });
});

test("generates the help from the table of options", () => {
  expect(describeOptions(table)).toEqual([
    "  --target <host:port>     the peer",
    "  --header <header>        a header; may be repeated",
    "  --kind <channel|socket>  the kind",
    "  -j, --json               as JSON",
  ]);
});
