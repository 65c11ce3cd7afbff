import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { gatewaySettingsPath } from "../gateway-settings-path.js";
import { UsageError } from "../usage-error.js";
import { readGatewaySettings } from "./gateway-settings.js";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-settings-"));
  file = join(folder, "gateway.json");
});

afterEach(() => rmSync(folder, { recursive: true }));

function read(text: string): ReturnType<typeof readGatewaySettings> {
  writeFileSync(file, text);
  return readGatewaySettings(file, true);
}

test("reads tools, limits and settings of servers, with comments", () => {
  const text = `{
    // what the agent may do
    "tools": { "github": { "allow": ["search_*"], "deny": ["*_secret"] }, "mail": {}, },
    "limits": { "clientRate": 2.5, "callIdleMs": 5000 },
    "servers": { "charts": { "prefix": "never", "era": "legacy" } },
    "configurations": ["/home/someone/.cursor/mcp.json"],
    "contact": "#tools on Slack"
  }`;
  expect(read(text)).toEqual({
    tools: { github: { allow: ["search_*"], deny: ["*_secret"] }, mail: {} },
    limits: { clientRate: 2.5, callIdleMs: 5000 },
    servers: { charts: { prefix: "never", era: "legacy" } },
    configurations: ["/home/someone/.cursor/mcp.json"],
    contact: "#tools on Slack",
  });
  expect(read("{}")).toEqual({ tools: {}, limits: {}, servers: {}, configurations: [] });
});

test("uses defaults if the settings file is missing, unless an option names it", () => {
  expect(readGatewaySettings(file, false)).toEqual({ tools: {}, limits: {}, servers: {}, configurations: [] });
  expect(readGatewaySettings("/dev/null/.config/wirescope/gateway.json", false)).toEqual({
    tools: {},
    limits: {},
    servers: {},
    configurations: [],
  });
  expect(() => readGatewaySettings(file, true)).toThrow("cannot be read: the file does not exist.");
  expect(gatewaySettingsPath(undefined, { env: { HOME: "/h" } })).toBe("/h/.config/wirescope/gateway.json");
  expect(gatewaySettingsPath(undefined, { env: { XDG_CONFIG_HOME: "/x" } })).toBe("/x/wirescope/gateway.json");
});

test.each([
  ["{", "1:2: The file ends inside an object."],
  ["[]", "1:1: The file must be an object."],
  ['{\n  "tool": {}\n}', '2:3: Unknown setting "tool". Did you mean tools?'],
  ['{"tools": []}', "1:11: tools must be an object."],
  ['{"configurations": "a"}', "1:20: configurations must be a list of files."],
  ['{"configurations": ["a.json"]}', "1:21: configurations must contain only absolute paths."],
  ['{"contact": ["#tools"]}', "1:13: contact must be one line of 1 to 100 characters"],
  ['{"contact": " "}', "1:13: contact must be one line"],
  ['{"contact": "#tools\\n#more"}', "1:13: contact must be one line"],
  ['{"tools": {"a": ["x"]}}', '1:17: tools of "a" must be an object.'],
  ['{"tools": {"a": {"alow": ["x"]}}}', '1:18: Unknown list of tools "alow". Did you mean allow?'],
  ['{"tools": {"a": {"allow": "x"}}}', "1:27: allow must be a list of tool names."],
  ['{"tools": {"a": {"deny": ["x", 1]}}}', "1:32: deny must contain only tool names."],
  ['{"tools": {"a": {"deny": [""]}}}', "1:27: deny must contain only tool names"],
  ['{"tools": {"a": {}, "a": {}}}', '1:21: Duplicate key "a".'],
  ['{"servers": {"a": {"perfix": "never"}}}', '1:20: Unknown setting of a server "perfix". Did you mean prefix?'],
  ['{"servers": {"a": {"prefix": true}}}', '1:30: prefix must be "always" or "never".'],
  ['{"servers": {"a": {"era": "modern"}}}', '1:27: era must be "auto" or "legacy".'],
  ['{"limits": {"session": 1}}', '1:13: Unknown limit "session". Did you mean sessions?'],
  ['{"limits": {"sessions": 0}}', "1:25: sessions must be a number greater than 0."],
  ['{"limits": {"sessions": "5"}}', "1:25: sessions must be a number greater than 0."],
])("rejects %j with the position of the error", (text, message) => {
  expect(() => read(text)).toThrow(UsageError);
  expect(() => read(text)).toThrow(`${file}:${message}`);
});

test("finds every limit in the documentation", () => {
  const docs = readFileSync(new URL("../../../../docs/gateway.md", import.meta.url), "utf8");
  let message = "";
  try {
    read('{"limits": {"none of them": 1}}');
  } catch (error) {
    message = String(error);
  }
  const names = /Known: (.+)\./.exec(message)?.[1]?.split(", ") ?? [];
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) expect(docs).toContain(`| \`${name}\` |`);
});
