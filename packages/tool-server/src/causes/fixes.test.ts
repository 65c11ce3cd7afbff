import { expect, test } from "vitest";
import {
  type FixTarget,
  fixByBridge,
  fixByCommand,
  fixByRegistration,
  fixBySignIn,
  fixField,
  formatFix,
} from "./fixes.js";
import { asksForToken } from "./refusal-evidence.js";

const positions = { entry: { line: 3, column: 5 }, "headers.X-Key": { line: 8, column: 9 } };
const target: FixTarget = { server: "api", file: ".mcp.json", positions };
const entry = { file: ".mcp.json", line: 3, column: 5 };

test("[TS-D-WHY-3] a fix in one sentence has its command, except one that sets a variable", () => {
  expect(formatFix({ advice: "Sign in to v2.1 again.", command: "wirescope login api" })).toBe(
    "Sign in to v2.1 again: wirescope login api",
  );
  expect(formatFix({ advice: "Set A.", command: "export A=…", variable: "A" })).toBe("Set A.");
  expect(formatFix({ advice: "Ask the operator." })).toBe("Ask the operator.");
});

test("[TS-D-WHY-3] a change to the configuration is at its field, else at the entry, and nowhere if file or position is unknown", () => {
  const { file, ...withoutFile } = target;
  expect(fixField(target, "headers.X-Key", "Change it.", "x")).toEqual({
    advice: "Change it.",
    position: { file: ".mcp.json", line: 8, column: 9 },
    write: "x",
  });
  expect(fixField(target, "url", "Change it.")).toStrictEqual({ advice: "Change it.", position: entry });
  expect(fixField(withoutFile, "url", "Change it.").position).toBeUndefined();
  expect(fixField({ server: "api", file, positions: {} }, "url", "Change it.").position).toBeUndefined();
  expect(fixField({ server: "api", file }, "url", "Change it.").position).toBeUndefined();
});

test("[TS-D-WHY-3] a command about a server behind a gateway is one that knows the servers of the gateway", () => {
  const behind = { ...target, isGateway: true, commandArguments: ["--endpoint"] };
  expect(fixByCommand(behind, ["ping"], "Do it.").command).toBe("wirescope reconnect api --endpoint");
  expect(fixByCommand(target, ["ping"], "Do it.").command).toBe("wirescope ping api");
});

test("[TS-D-WHY-3] a command has the arguments that it takes: trust takes no profile", () => {
  const more = { ...target, commandArguments: ["--config", "a b.json"], signInArguments: ["--profile", "work"] };
  expect(fixByCommand(more, ["trust", "login"], "Do it.").command).toBe(
    "wirescope trust api --config 'a b.json' && wirescope login api --config 'a b.json' --profile work",
  );
  expect(fixByCommand(target, ["trust", "login"], "Do it.").command).toBe("wirescope trust api && wirescope login api");
});

test("[TS-D-WHY-3] a sign-in replaces the headers of the entry, after a registration by hand if there is no other", () => {
  const headers = ["X-Key", "X-Other"];
  expect(fixBySignIn(target, { headers, canRegister: true })).toEqual({
    advice: "Remove X-Key and X-Other from the headers of the entry, then sign in.",
    command: "wirescope login api",
    position: { file: ".mcp.json", line: 8, column: 9 },
  });
  expect(fixBySignIn(target, { headers, canRegister: false })).toEqual({
    advice: expect.stringMatching(/oauth\.json.* Then remove X-Key and X-Other from the headers of the entry/),
    command: "wirescope login api",
    write: '"api": {"clientId": "…"}',
  });
  expect(fixByRegistration(target)).toEqual({
    advice: expect.stringContaining("register a client"),
    write: '"api": {"clientId": "…"}',
  });
});

test("[TS-D-WHY-3] the bridge replaces the entry", () => {
  const { position, write } = fixByBridge(target);
  expect(position).toEqual(entry);
  expect(JSON.parse(`{${write}}`)).toEqual({
    command: "wirescope",
    args: ["bridge", "--cert", "${CLIENT_CERT}", "--key", "${CLIENT_KEY}", "<url>"],
  });
});

test.each([
  [["Bearer"], true],
  [["basic", "dpop"], true],
  [["Basic"], false],
  [["MyBearer", "BearerX"], false],
  [[], false],
])("a challenge with the schemes %j asks for a token of OAuth: %s", (schemes, expected) => {
  const challenge = { schemes, error: undefined, description: undefined, scopes: [], resourceMetadata: [] };
  expect(asksForToken(challenge)).toBe(expected);
  expect(asksForToken(undefined)).toBe(false);
});
