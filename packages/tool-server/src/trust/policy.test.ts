import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { violations } from "../config/json-schema.test.helper.js";
import { parsePolicy } from "./policy.js";

const schema = JSON.parse(readFileSync(new URL("../../schema/policy.schema.json", import.meta.url), "utf8"));
const digest = `sha256:${"0".repeat(64)}`;

function problemsOf(value: unknown): string[] {
  return parsePolicy(JSON.stringify(value), "p").problems.map(({ message }) => message);
}

test("[TS-D-TRUST-7] a policy is parsed with all its rules and with defaults", () => {
  const text = `{
  "$schema": "policy.schema.json",
  "version": 1,
  "requireApproval": "always",
  "allowTrustFlag": false,
  "others": "deny", "uncoveredCode": "deny", "sandbox": "required",
  "allow": [
    { "url": "https://*.example.com", "helper": true, "configuration": "/srv" },
    { "command": "npx", "args": ["-y", "x"], "env": ["TOKEN"], "sandbox": false }
  ],
  "deny": [{ "fingerprint": "${digest.toUpperCase().replace("SHA", "sha")}", "reason": "It was bad." }]
}`;
  expect(violations(schema, JSON.parse(text))).toEqual([]);
  expect(parsePolicy(text, "/etc/p.json")).toMatchObject({
    problems: [],
    policy: {
      path: "/etc/p.json",
      requireApproval: "always",
      allowTrustFlag: false,
      others: "deny",
      uncoveredCode: "deny",
      sandbox: "required",
      allow: [
        { url: { text: "https://*.example.com" }, helper: true, configuration: "/srv", args: [], env: [], line: 8 },
        { command: "npx", args: ["-y", "x"], env: ["TOKEN"], helper: false, sandbox: false, line: 9 },
      ],
      deny: [{ fingerprint: digest, reason: "It was bad.", line: 11 }],
    },
  });
  expect(parsePolicy('{"version": 1}', "p").policy).toEqual({
    path: "p",
    requireApproval: "unless-allowed",
    allowTrustFlag: true,
    others: "ask",
    uncoveredCode: "ask",
    sandbox: "auto",
    allow: [],
    deny: [],
  });
});

test("[TS-D-TRUST-8] every problem is reported with its position, and then there is no policy", () => {
  const text = `{
  "alow": [],
  "allow": [{ "url": "example.com" }, { "comand": "x" }],
  "requireApproval": "never",
}`;
  const { policy, problems } = parsePolicy(text, "p");
  expect(policy).toBeUndefined();
  expect(problems.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
    '1:1 The policy has no version. Write "version": 1.',
    '2:3 The policy has the unknown field "alow". Did you mean allow?',
    expect.stringMatching(/^3:22 The url is not a valid pattern: it is not an origin/),
    expect.stringMatching(/^3:39 A rule needs at least one of url, command, fingerprint, configuration/),
    '3:41 A rule has the unknown field "comand". Did you mean command?',
    '4:22 requireApproval must be one of "unless-allowed", "always".',
    expect.stringMatching(/^4:29 Trailing commas are not allowed/),
  ]);
});

test.each([
  [[], /must be an object/],
  [{ version: 2 }, /supported version is 1/],
  [{ version: "1" }, /supported version is 1/],
  [{ version: 1, allowTrustFlag: "no" }, /allowTrustFlag must be true or false/],
  [{ version: 1, sandbox: false }, /sandbox must be one of "auto", "required", "off"/],
  [{ version: 1, others: "forbid" }, /others must be one of/],
  [{ version: 1, uncoveredCode: true }, /uncoveredCode must be one of "ask", "deny"/],
  [{ version: 1, deny: {} }, /deny must be a list of rules/],
  [{ version: 1, deny: ["npx"] }, /A rule must be an object/],
  [{ version: 1, deny: [{}] }, /at least one of/],
  [{ version: 1, allow: [{ reason: "x" }] }, /at least one of/],
  [{ version: 1, allow: [{ url: "https://a.example", command: "x" }] }, /both url and command/],
  [{ version: 1, allow: [{ args: ["x"], configuration: "/a" }] }, /args requires command/],
  [{ version: 1, allow: [{ env: ["x"], url: "https://a.example" }] }, /env requires command/],
  [{ version: 1, allow: [{ helper: true, command: "x" }] }, /helper requires url/],
  [{ version: 1, allow: [{ sandbox: false, url: "https://a.example" }] }, /sandbox requires command or helper/],
  [{ version: 1, deny: [{ helper: true, url: "https://a.example" }] }, /unknown field "helper"/],
  [{ version: 1, deny: [{ env: ["A"], command: "x" }] }, /unknown field "env"/],
  [{ version: 1, allow: [{ command: "" }] }, /must be a non-empty string/],
  [{ version: 1, allow: [{ command: "x", args: "y" }] }, /args must be a list of strings/],
  [{ version: 1, allow: [{ command: "x", args: [1] }] }, /args must be a list of strings/],
  [{ version: 1, allow: [{ fingerprint: "sha256:00" }] }, /64 hexadecimal digits/],
  [{ version: 1, allow: [{ configuration: "relative" }] }, /absolute path/],
])("[TS-D-TRUST-8] %j is rejected, and by the schema too", (value, words) => {
  expect(problemsOf(value)).toEqual([expect.stringMatching(words)]);
  expect(violations(schema, value)).not.toEqual([]);
});

test("[TS-D-TRUST-8] a hostile key is printed as plain ASCII, and __proto__ is an unknown key like any other", () => {
  expect(
    parsePolicy('{"version": 1, "\\u001b[2J": 1, "__proto__": 1}', "p").problems.map(({ message }) => message),
  ).toEqual([expect.stringContaining('"\\u{1b}[2J"'), expect.stringContaining('"__proto__"')]);
});

test("the schema accepts everything that the parser accepts", () => {
  const text = fc.constantFrom(
    "",
    "x",
    "/a",
    "https://*.example.com",
    "https://a",
    "*://*:*",
    digest,
    "http://[::1]:80",
  );
  const texts = fc.array(fc.constantFrom("", "a"), { maxLength: 2 });
  const rule = fc.record(
    {
      url: text,
      command: text,
      args: texts,
      env: texts,
      helper: fc.boolean(),
      fingerprint: text,
      configuration: text,
      reason: text,
    },
    { requiredKeys: [] },
  );
  const policy = fc.record(
    {
      version: fc.constantFrom(1, 2),
      requireApproval: fc.constantFrom("always", "unless-allowed", "never"),
      others: fc.constantFrom("ask", "deny", "x"),
      allow: fc.array(rule, { maxLength: 1 }),
      deny: fc.array(rule, { maxLength: 1 }),
    },
    { requiredKeys: ["version"] },
  );
  let accepted = 0;
  fc.assert(
    fc.property(policy, (value) => {
      if (problemsOf(value).length > 0) return;
      accepted += 1;
      expect(violations(schema, value)).toEqual([]);
    }),
    { numRuns: 3_000 },
  );
  expect(accepted).toBeGreaterThan(20);
});
