import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exposedName, exposedPrefix } from "./exposed-name.js";

test.each([
  ["github", "create_issue", "github__create_issue"],
  ["my-server", "a-b_c", "my-server__a-b_c"],
  ["a", "b__c", "a__b__c"],
  ["a", "_b", "a___b"],
])("names the tool of server %s and tool %s as %s", (server, name, exposed) => {
  expect(exposedName(server, name)).toBe(exposed);
});

describe("names that clients would not accept", () => {
  test.each([
    ["a server with another character", "my server", "tool"],
    ["a tool with another character", "server", "a.b/c"],
    ["a server whose name holds the separator", "a__b", "c"],
    ["a server whose name ends with half of it", "a_", "b"],
    ["a whole that is too long", "server", "t".repeat(60)],
    ["letters that are no ASCII", "sërver", "tööl"],
    ["a tool that looks as if it had one", "server", "tool_0123456789"],
    ["a name that is empty", "server", ""],
  ])("shortens a name and ends it with a hash: %s", (_, server, name) => {
    expect(exposedName(server, name)).toMatch(/^[A-Za-z0-9_-]{1,53}_[0-9a-f]{10}$/);
  });
});

const letters = fc.constantFrom("a", "b", "_", "-", ".", "é", "0");
const word = fc.array(letters, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));

test("gives every pair of server and tool a unique name that clients accept", () => {
  fc.assert(
    fc.property(word, word, word, word, (server, name, otherServer, otherName) => {
      const exposed = exposedName(server, name);
      expect(exposed).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(exposed.startsWith(exposedPrefix(server))).toBe(true);
      if (server !== otherServer || name !== otherName) expect(exposed).not.toBe(exposedName(otherServer, otherName));
    }),
    { numRuns: 1000 },
  );
});

test("keeps an unprefixed name if clients accept it", () => {
  expect(exposedName("server", "tool", true)).toBe("tool");
  expect(exposedName("server", "a b", true)).toMatch(/^server__a_b_[0-9a-f]{10}$/);
});
