import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import { networkEntry, withEntry } from "./examples.test.helper.js";
import { parseConfiguration } from "./parse-configuration.js";
import { resolveEntry, substituteEntry } from "./substitute-entry.js";

const full = {
  clientId: "3f0c",
  clientSecret: "${NOTES_SECRET}",
  scopes: ["notes:read", "${MORE_SCOPE}"],
  callbackHost: "localhost",
  callbackPort: 8912,
  authorizeParameters: { audience: "https://${TENANT}.example.com", login_hint: "me@example.com" },
  resource: "api://3f0c",
  assumePkce: true,
  prompt: "select_account",
  clientMetadataUrl: "https://example.com/client.json",
};

function parse(oauth: unknown, more: Record<string, unknown> = {}) {
  return parseConfiguration(withEntry(networkEntry({ oauth, ...more })));
}

function context(variables: Record<string, string>) {
  return { variables, pluginRoot: "/", secrets: createSecretRegistry() };
}

describe("[TS-D-OAUTH-7] the oauth object of an entry", () => {
  test("reads every setting, replaces variables, and registers the secret", () => {
    const [entry] = parse(full).entries;
    if (entry === undefined) throw new Error("no entry");
    const given = context({ NOTES_SECRET: "the-secret-of-notes", MORE_SCOPE: "notes:write", TENANT: "acme" });
    expect(resolveEntry(entry, given)).toMatchObject({
      oauth: {
        ...full,
        clientSecret: "the-secret-of-notes",
        scopes: ["notes:read", "notes:write"],
        authorizeParameters: [
          ["audience", "https://acme.example.com"],
          ["login_hint", "me@example.com"],
        ],
      },
    });
    expect(given.secrets.redact("the-secret-of-notes")).not.toContain("the-secret-of-notes");
  });

  test("accepts scopes as one string with spaces, and resource: false", () => {
    const [entry] = parse({ scopes: "a  b", resource: false }).entries;
    if (entry === undefined) throw new Error("no entry");
    expect(resolveEntry(entry, context({}))).toMatchObject({ oauth: { scopes: ["a", "b"], resource: false } });
  });

  test.each([
    ["x", "field-type", "oauth must be an object, but is a string."],
    [{ clientId: 1 }, "field-type", "oauth.clientId must be a string, but is a number."],
    [{ clientId: " " }, "oauth-setting", "oauth.clientId is empty."],
    [{ clientSecret: "${S}" }, "oauth-setting", "oauth.clientSecret requires clientId."],
    [{ scopes: 1 }, "field-type", "oauth.scopes must be a list of strings, but is a number."],
    [{ scopes: ['"'] }, "oauth-setting", 'oauth.scopes[0] must be scopes, without spaces, " and \\.'],
    [{ scopes: Array(65).fill("a") }, "oauth-setting", "oauth.scopes has more than 64 values."],
    [{ callbackHost: "0.0.0.0" }, "oauth-setting", "oauth.callbackHost must be 127.0.0.1 or localhost."],
    [{ callbackPort: 70_000 }, "oauth-setting", "oauth.callbackPort must be an integer from 1 to 65535."],
    [{ callbackPort: "80" }, "field-type", "oauth.callbackPort must be a number, but is a string."],
    [{ resource: true }, "field-type", "oauth.resource must be a string or false, but is a boolean."],
    [{ resource: "notes" }, "oauth-setting", "oauth.resource must be an absolute URI without a fragment."],
    [{ assumePkce: "yes" }, "field-type", "oauth.assumePkce must be a boolean, but is a string."],
    [{ prompt: "always" }, "oauth-setting", "oauth.prompt must be one or several of none, login,"],
    [
      { clientMetadataUrl: "http://a/b" },
      "oauth-setting",
      "oauth.clientMetadataUrl must be an https:// URL with a path.",
    ],
    [{ authorizeParameters: { state: "x" } }, "oauth-parameter", "Wirescope sets the parameter state itself."],
    [{ authorizeParameters: { Client_ID: "x" } }, "oauth-parameter", "Wirescope sets the parameter Client_ID itself."],
    [
      { authorizeParameters: { "code.challenge": "x" } },
      "oauth-parameter",
      "sets the parameter code.challenge itself.",
    ],
    [{ authorizeParameters: { "scope[]": "x" } }, "oauth-parameter", '"scope[]" is not the name of a parameter.'],
    [{ authorizeParameters: { audience: "a\nb" } }, "oauth-setting", "must have values of at most 2048 characters"],
    [{ authorizeParameters: { audience: 1 } }, "field-type", "must be an object of strings"],
  ])("reports an invalid setting at its own position: %j", (oauth, code, message) => {
    const errors = parse(oauth).findings.filter(({ severity }) => severity === "error");
    expect(errors).toMatchObject([{ code, message: expect.stringContaining(message), server: expect.any(String) }]);
    expect(errors[0]?.path).toContain("oauth");
  });

  test("reports each mistake with the line and column of its value", () => {
    const text = `{"mcpServers": {"notes": {"type": "http", "url": "https://a.example.com",
  "oauth": {
    "prompt": "always",
    "authorizeParameters": {"redirect_uri": "https://evil.example"}}}}}`;
    const { findings } = parseConfiguration(text);
    expect(findings.map(({ line, column, code }) => [line, column, code])).toEqual([
      [3, 15, "oauth-setting"],
      [4, 29, "oauth-parameter"],
    ]);
  });

  test("checks a value again after its variables are replaced", () => {
    const [entry] = parse({ prompt: "${PROMPT}", scopes: ["${SCOPE}"] }).entries;
    if (entry === undefined) throw new Error("no entry");
    const { entry: resolved, findings } = substituteEntry(entry, context({ PROMPT: "always", SCOPE: "a b" }));
    expect(resolved).toBeUndefined();
    expect(findings.map(({ code }) => code)).toEqual(["oauth-setting", "oauth-setting"]);
  });

  test("rejects the client secret itself, and repeats it in no message", () => {
    const { findings } = parse({ clientId: "a", clientSecret: "GOCSPX-abcdefgh12345678" });
    expect(findings).toMatchObject([
      { code: "literal-secret", severity: "error", message: "oauth.clientSecret contains the secret itself." },
    ]);
    expect(JSON.stringify(findings)).not.toContain("GOCSPX");
  });

  test.each([
    [{ clientID: "x" }, "oauth.clientID is unknown and has no effect.", "Did you mean clientId?"],
    [{ grant: "workload" }, "oauth.grant has no effect in an entry.", "Set it in your own OAuth settings"],
  ])("adds a note for a field without effect: %j", (oauth, message, fix) => {
    expect(parse(oauth).findings).toMatchObject([
      { code: "field-unknown", severity: "note", message, fix: expect.stringContaining(fix) },
    ]);
  });

  test("adds a note for each setting that removes a protection", () => {
    const { findings } = parse({ resource: false, assumePkce: true });
    expect(findings).toMatchObject([
      { code: "oauth-weakened", severity: "note", path: expect.arrayContaining(["resource"]) },
      { code: "oauth-weakened", severity: "note", path: expect.arrayContaining(["assumePkce"]) },
    ]);
  });

  test("adds a note if the entry has a credential of its own", () => {
    const { findings } = parse({ clientId: "a" }, { headers: { Authorization: "Bearer ${TOKEN}" } });
    expect(findings).toMatchObject([{ code: "oauth-unused", severity: "note" }]);
  });
});
