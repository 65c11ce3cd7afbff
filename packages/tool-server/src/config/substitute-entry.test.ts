import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../any-character.test.helper.js";
import { ToolServerError } from "../errors.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import type { Entry } from "./entry.js";
import { example, networkEntry, withEntry } from "./examples.test.helper.js";
import { headerValueDefect } from "./headers.js";
import { parseConfiguration } from "./parse-configuration.js";
import {
  resolveEntry,
  resolveOrigin,
  type SubstitutionContext,
  substituteEntry,
  type Variables,
} from "./substitute-entry.js";

function entryOf(text: string): Entry {
  const [entry] = parseConfiguration(text).entries;
  if (entry === undefined) throw new Error("no entry");
  return entry;
}

function context(variables: Variables = {}): SubstitutionContext {
  return { variables, pluginRoot: "/plugin", secrets: createSecretRegistry() };
}

function codesOf(entry: unknown, variables: Variables): string[] {
  return substituteEntry(entryOf(withEntry(entry)), context(variables)).findings.map(
    ({ severity, code }) => `${severity} ${code}`,
  );
}

function urlOf(url: string, variables: Variables): string | undefined {
  return substitutedUrl(entryOf(withEntry({ type: "http", url })), variables);
}

function substitutedUrl(written: Entry, variables: Variables): string | undefined {
  const { entry } = substituteEntry(written, context(variables));
  return entry !== undefined && "url" in entry ? entry.url : undefined;
}

function headersOf(headers: Record<string, string>, variables: Variables): unknown {
  const entry = resolveEntry(entryOf(withEntry(networkEntry({ headers }))), context(variables));
  return "headers" in entry ? entry.headers : undefined;
}

describe("values", () => {
  test("[TS-SUB-1, TS-BEARER-2] replaces references by the values of the user's variables", () => {
    expect(headersOf({ Authorization: "Bearer ${API_TOKEN}" }, { API_TOKEN: "abc" })).toEqual({
      Authorization: "Bearer abc",
    });
  });

  test("[TS-FIELD-7, TS-FIELD-8, TS-STDIO-1, TS-D-SUB-1] uses values or defaults in args and env", () => {
    const variables = { DATABASE_URL: "postgres://h/d", DB_USER: "me", DB_PASSWORD: "pass-word" };
    expect(resolveEntry(entryOf(example("stdio-env")), context(variables))).toEqual({
      type: "stdio",
      name: "database",
      secretCommands: [],
      sandbox: true,
      command: "npx",
      args: ["-y", "example-database-server", "--schema=public"],
      env: { ...variables, LOG_LEVEL: "info" },
      cwd: expect.any(String),
      envFile: undefined,
    });
  });

  test("[TS-D-SUB-1] replaces an empty value by the default, even by an empty one", () => {
    expect(headersOf({ "X-A": "${A:-d}", "X-B": "b${B:-}" }, { A: "" })).toEqual({ "X-A": "d", "X-B": "b" });
  });

  test("[TS-FIELD-7] passes $NAME in args on, because a shell replaces it by what env sets", () => {
    const entry = { command: "sh", args: ["-c", "exec node $SERVER_FILE"], env: { SERVER_FILE: "server.mjs" } };
    expect(codesOf(entry, {})).toEqual([]);
    expect(codesOf({ ...entry, env: {} }, {})).toEqual(["warning variable-malformed"]);
    expect(resolveEntry(entryOf(withEntry(entry)), context())).toMatchObject(entry);
    const bridge = { command: "wirescope", args: ["bridge", "Bearer $TOKEN"], env: { TOKEN: "${TOKEN}" } };
    expect(codesOf(bridge, { TOKEN: "a-token-of-mine" })).toEqual([]);
  });

  test("[TS-D-SUB-1] uses the value of a variable that is set instead of the default", () => {
    expect(headersOf({ "X-A": "${A:-d}" }, { A: "a" })).toEqual({ "X-A": "a" });
  });

  test("always uses the default of NOT_SECRET, and reads it as a variable if it has none", () => {
    expect(headersOf({ "X-A": "${NOT_SECRET:-d}" }, { NOT_SECRET: "a" })).toEqual({ "X-A": "d" });
    expect(headersOf({ "X-A": "${NOT_SECRET}" }, { NOT_SECRET: "a" })).toEqual({ "X-A": "a" });
  });

  test.each<[string, Variables, string]>([
    ["${userHome}/a", { HOME: "/home/me", USERPROFILE: "C:\\me", userHome: "/x" }, "/home/me/a"],
    ["${userHome}/a", { USERPROFILE: "/users/me" }, "/users/me/a"],
    ["${workspaceFolder}/a", { workspaceFolder: "/x" }, "/projects/plugin/a"],
    ["${workspaceFolderBasename}/a", { workspaceFolderBasename: "x" }, "plugin/a"],
    ["${input:api-key}", { "input:api-key": "entered" }, "entered"],
    // A variable takes precedence over a value that a user entered.
    ["${input:api-key}", { "input:api-key": "entered", INPUT_API_KEY: "set" }, "set"],
  ])("replaces %s with the variables %j by %s", (text, variables, expected) => {
    const entry = entryOf(withEntry({ command: "x", args: [text] }));
    const given = { variables, pluginRoot: "/projects/plugin", secrets: createSecretRegistry() };
    expect(resolveEntry(entry, given)).toMatchObject({ args: [expected] });
  });

  test("resolves the working directory and the environment file of a process below the plugin root", () => {
    const entry = { command: "x", cwd: "${PART}/b", envFile: "${PART}/.env" };
    expect(resolveEntry(entryOf(withEntry(entry)), context({ PART: "a" }))).toMatchObject({
      cwd: "/plugin/a/b",
      envFile: "/plugin/a/.env",
    });
    expect(resolveEntry(entryOf(withEntry({ command: "x" })), context())).toMatchObject({
      cwd: "/plugin",
      envFile: undefined,
    });
  });

  test("leaves out an optional variable of a process unless it is set", () => {
    const toml = '[mcp_servers.s]\ncommand = "x"\nenv_vars = ["ONE", "TWO"]\n[mcp_servers.s.env]\nA = "a"\n';
    const [entry] = parseConfiguration(toml, { file: "config.toml" }).entries;
    if (entry === undefined) throw new Error("no entry");
    expect(resolveEntry(entry, context({ TWO: "2" }))).toMatchObject({ env: { A: "a", TWO: "2" } });
    expect(resolveEntry(entry, context())).toMatchObject({ env: { A: "a" } });
    expect(resolveEntry(entry, context())).not.toHaveProperty("env.ONE");
  });

  test("replaces the variables of secret commands, and keeps their other settings", () => {
    const command = { command: ["op", "read", "${ITEM}"], prefix: "Bearer ", timeout: 500, ttl: 1000 };
    const entry = networkEntry({ headers: { Authorization: command } });
    expect(resolveEntry(entryOf(withEntry(entry)), context({ ITEM: "op://a" })).secretCommands).toEqual([
      {
        target: "header",
        name: "Authorization",
        field: "headers.Authorization",
        command: ["op", "read", "op://a"],
        prefix: "Bearer ",
        timeoutMs: 500,
        ttlMs: 1000,
      },
    ]);
  });

  test("[TS-D-OAUTH-7] replaces the variables of OAuth settings, and checks the resulting values", () => {
    const entry = networkEntry({ oauth: { clientId: "${ID:-}", callbackHost: "${HOST:-}" } });
    const oauthOf = (variables: Variables): unknown => resolveEntry(entryOf(withEntry(entry)), context(variables));
    expect(oauthOf({ ID: "a-client", HOST: "localhost" })).toMatchObject({
      oauth: { clientId: "a-client", callbackHost: "localhost" },
    });
    expect(oauthOf({})).toMatchObject({ oauth: { clientId: "", callbackHost: "" } });
    expect(() => oauthOf({ ID: "a-client", HOST: "0.0.0.0" })).toThrow(
      expect.objectContaining({
        problem: "oauth.callbackHost must be 127.0.0.1 or localhost.",
        advice: "Set the variable to another value.",
      }),
    );
    // Literal values are checked when the configuration is parsed.
    expect(codesOf(networkEntry({ oauth: { clientId: "a", callbackHost: "0.0.0.0" } }), {})).toEqual([]);
  });

  test("[TS-D-SUB-2] combines several values in one string, with text around them", () => {
    expect(headersOf({ "X-A": "<${A}/${B}-${A}>" }, { A: "1", B: "2" })).toEqual({ "X-A": "<1/2-1>" });
  });

  test("[TS-SUB-2, TS-FIELD-5, TS-FIELD-6] uses HOST_PLUGIN_ROOT in command, args and headersHelper", () => {
    const variables = { CLIENT_CERT: "/c.pem", CLIENT_KEY: "/k.pem", HOST_PLUGIN_ROOT: "/elsewhere" };
    expect(resolveEntry(entryOf(example("mutual-tls")), context(variables))).toMatchObject({
      command: "/plugin/bin/wrapper",
      args: ["--cert", "/c.pem", "--key", "/k.pem", "https://api.example.com/mcp"],
    });
    expect(resolveEntry(entryOf(example("helper")), context())).toMatchObject({
      headersHelper: "/plugin/scripts/headers.sh",
    });
    const args = ["--rules", "${HOST_PLUGIN_ROOT}/rules.json"];
    expect(resolveEntry(entryOf(withEntry({ command: "node", args })), context(variables))).toMatchObject({
      args: ["--rules", "/plugin/rules.json"],
    });
  });

  test("[TS-TENANT-3] creates a different entry for each user from one configuration", () => {
    const entry = entryOf(example("tenant-by-host"));
    expect(resolveEntry(entry, context({ TENANT_ID: "acme" }))).toMatchObject({
      url: "https://acme.api.example.com/mcp",
    });
    expect(resolveEntry(entry, context({ TENANT_ID: "zeta" }))).toMatchObject({
      url: "https://zeta.api.example.com/mcp",
    });
  });

  test("[TS-D-SUB-7] uses values literally, whatever they contain", () => {
    const entry = entryOf(withEntry({ command: "x", args: ["${A}-${B}"] }));
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (a, b) => {
        fc.pre(!/[\0]|\$\{/.test(a + b));
        expect(substituteEntry(entry, context({ A: a, B: b })).entry).toMatchObject({ args: [`${a}-${b}`] });
      }),
    );
  });

  test("reads values only from own properties of the given variables", () => {
    expect(codesOf({ command: "x", args: ["${constructor}"] }, {})).toEqual(["error variable-unset"]);
  });
});

describe("unusable values", () => {
  const bearer = networkEntry({ headers: { Authorization: "Bearer ${API_TOKEN}" } });

  test("[TS-D-SUB-3, TS-ERR-1] reports an unset variable with its name, server and field", () => {
    const { entry, findings } = substituteEntry(entryOf(withEntry(bearer)), context());
    expect(entry).toBeUndefined();
    expect(findings).toMatchObject([
      {
        code: "variable-unset",
        message: "API_TOKEN is not set, but headers.Authorization needs it.",
      },
    ]);
    expect(() => resolveEntry(entryOf(withEntry(bearer)), context())).toThrow(
      expect.objectContaining({
        code: "VARIABLE_UNUSABLE",
        message: expect.stringContaining("Export it, or pass a file with `envFiles`."),
      }),
    );
  });

  test("[TS-D-SUB-5, TS-ERR-1] reports an empty value as an error in a credential, and as a warning elsewhere", () => {
    expect(codesOf(bearer, { API_TOKEN: "" })).toEqual(["error variable-empty"]);
    expect(codesOf({ command: "x", args: ["${A}"] }, { A: "" })).toEqual(["warning variable-empty"]);
  });

  test.each([" abc", "abc ", "abc\n", "abc\r\n", "a\nb", "abc\u200b", "\ufeffabc", "a\u00a0b"])(
    "[TS-D-SUB-6] reports hidden white space in a value: %j",
    (value) => {
      expect(codesOf(bearer, { API_TOKEN: value })).toEqual(["error variable-white-space"]);
      expect(codesOf({ command: "x", args: ["${A}"] }, { A: value })).toEqual(["warning variable-white-space"]);
    },
  );

  test("[TS-D-SUB-9] gives no entry Wirescope's own variables, such as the key to all tokens", () => {
    const variables = { WIRESCOPE_VAULT_KEY: "the-key-to-all-tokens", wirescope_vault_key: "the-same" };
    for (const name of Object.keys(variables)) {
      const entry = networkEntry({ headers: { "X-Key": `\${${name}:-none}` } });
      expect(codesOf(entry, variables)).toEqual(["error variable-reserved"]);
      expect(codesOf({ command: "x", env: { KEY: `\${${name}}` } }, variables)).toEqual(["error variable-reserved"]);
    }
  });

  test("reports an input without a value, or with another one than its choices, and how to enter it", () => {
    const inputs = [{ id: "region", type: "pickString", options: ["eu", "us"] }];
    const server = { type: "http", url: "https://a.example/", headers: { "X-Region": "${input:region}" } };
    const entry = entryOf(JSON.stringify({ inputs, servers: { s: server } }));
    const problemsOf = (variables: Variables): string[] =>
      substituteEntry(entry, context(variables)).findings.map(
        ({ code, variable, message, fix }) => `${code} ${variable}: ${message} ${fix}`,
      );
    const how =
      "Enter it at a terminal: wirescope inputs region. Or set INPUT_REGION in the environment, or in a file that you pass with `envFiles`.";
    expect(problemsOf({ INPUT_REGION: "eu" })).toEqual([]);
    expect(problemsOf({ INPUT_REGION: "fr" })).toEqual([
      `input-value input:region: The value of input:region is not one of its choices. Use one of "eu", "us". ${how}`,
    ]);
    expect(problemsOf({})).toEqual([
      `variable-unset input:region: input:region is not set, but headers.X-Region needs it. ${how}`,
    ]);
  });

  test("reports $NAME as an error, but as a warning in the format of another program", () => {
    const server = { type: "http", url: "https://a.example/", headers: { "X-A": "$TOKEN" } };
    expect(codesOf(server, {})).toEqual(["error variable-malformed"]);
    const { entry, findings } = substituteEntry(entryOf(JSON.stringify({ servers: { s: server } })), context());
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["warning variable-malformed"]);
    expect(entry).toMatchObject({ headers: { "X-A": "$TOKEN" } });
  });

  test("[TS-SUB-2] rejects an entry that uses HOST_PLUGIN_ROOT in another field", () => {
    expect(codesOf(networkEntry({ headers: { "X-A": "${HOST_PLUGIN_ROOT}" } }), {})).toEqual([
      "error variable-misplaced",
    ]);
    expect(codesOf(networkEntry({ url: "https://a.example/${HOST_PLUGIN_ROOT}" }), {})).toEqual([
      "error variable-misplaced",
    ]);
  });

  test("[TS-D-SUB-4] never sends a value with ${ in it", () => {
    expect(codesOf(bearer, { API_TOKEN: "${OTHER}" })).toEqual(["error variable-nested"]);
    expect(codesOf({ command: "x", args: ["${A"] }, {})).toEqual(["error variable-malformed"]);
  });

  test("[TS-D-SUB-4] never returns a result with ${ in it, whatever is written and set", () => {
    const piece = fc.constantFrom("$", "{", "}", "A", "${A}", "${B:-x}", ":-", " ", "${");
    const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, text, text, (template, a, b) => {
        const entry = entryOf(withEntry({ command: "x", args: [template] }));
        const { entry: resolved } = substituteEntry(entry, context({ A: a, B: b }));
        expect(JSON.stringify(resolved ?? "")).not.toContain("${");
      }),
      { numRuns: 300 },
    );
  });

  test("[TS-D-SUB-4] never sends a ${ that a value and the following text form together", () => {
    expect(codesOf({ command: "x", args: ["${A}{B}"] }, { A: "a$" })).toEqual(["error variable-nested"]);
    expect(codesOf({ command: "x", args: ["${A}{B}"] }, { A: "a" })).toEqual([]);
  });

  test("[TS-D-SUB-3] lists the variables that are not set in the details of the error, each once", () => {
    const headers = { "X-A": "${A}${A}", "X-B": "${B:-b}", "X-C": "${C}", "X-D": "${D}", "X-E": "${toString}" };
    const unsetOf = (variables: Variables): unknown => {
      try {
        return resolveEntry(entryOf(withEntry(networkEntry({ headers }))), context(variables));
      } catch (error) {
        return ToolServerError.is(error) ? error.details.unsetVariables : error;
      }
    };
    expect(unsetOf({ C: "c", D: undefined })).toEqual(["A", "D", "toString"]);
    expect(unsetOf({ A: "\n", C: "c", D: "d", toString: "e" })).toEqual([]);
  });

  test("reports only the errors of an entry that also has warnings", () => {
    const headers = { "X-A": "${A}", "X-Note": "a${NOTE}" };
    const entry = entryOf(withEntry(networkEntry({ headers })));
    expect(() => resolveEntry(entry, context({ NOTE: "" }))).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("NOTE is empty") }),
    );
  });

  test("[TS-D-HEADER-1] rejects a value that is not allowed in headers", () => {
    for (const value of ["a\u0001b", "snow \u2603", "a\u0000b"]) {
      expect(codesOf(bearer, { API_TOKEN: value })).toEqual(["error header-value"]);
    }
  });

  describe("[TS-D-HEADER-1, TS-D-SUB-1, TS-ERR-1] a header that cannot be sent", () => {
    const findingsOf = (value: string, variables: Variables) => {
      const entry = entryOf(withEntry(networkEntry({ headers: { "X-Tenant-ID": value } })));
      return substituteEntry(entry, context(variables)).findings;
    };

    test.each([
      ["unset", {}],
      ["empty", { A: "" }],
    ])("reports an empty value as an error if the variable is %s and the default is empty", (_, variables) => {
      expect(findingsOf("${A:-}", variables)).toMatchObject([
        {
          code: "header-value",
          severity: "error",
          message: 'headers.X-Tenant-ID of server "s" cannot be sent, because its value is empty.',
          fix: expect.stringMatching(/^Set A, or write another default\.$/),
        },
      ]);
      expect(findingsOf("${A:-}", { A: "acme" })).toEqual([]);
      expect(findingsOf("a${A:-}", variables)).toEqual([]);
    });

    test("reports an empty variable as an error, and as a warning if the rest can be sent", () => {
      const empty = { code: "variable-empty", message: "A is empty, but headers.X-Tenant-ID needs it." };
      expect(findingsOf("${A}", { A: "" })).toMatchObject([{ ...empty, severity: "error" }]);
      expect(findingsOf("a ${A}", { A: "" })).toMatchObject([{ ...empty, severity: "error" }]);
      expect(findingsOf("a${A}", { A: "" })).toMatchObject([{ ...empty, severity: "warning" }]);
    });

    test("reports a value that is too long as an error", () => {
      expect(findingsOf("${A}${B}", { A: "a".repeat(16_384), B: "b" })).toMatchObject([
        { code: "header-value", severity: "error", fix: "Set A and B to a value that can be sent." },
      ]);
    });

    test("reports a value once: by its variable, or when the file is parsed", () => {
      expect(findingsOf("${A}", { A: " a" }).map(({ code }) => code)).toEqual(["variable-white-space"]);
      expect(findingsOf("${A}", {}).map(({ code }) => code)).toEqual(["variable-unset"]);
      expect(findingsOf(" ${A}", { A: "a" })).toEqual([]);
    });

    test("finds every value that cannot be sent", () => {
      const text = fc.oneof(fc.constantFrom("", " ", "a", "\t", "\u00a0", "\u2003", "$", "{", "}"), fc.string());
      const part = fc.oneof(text, fc.constantFrom("${A}", "${B}", "${A:-}", "${B:- d}", "${NOT_SECRET:-}"));
      fc.assert(
        fc.property(fc.array(part, { maxLength: 4 }), text, text, (parts, A, B) => {
          const headers = { "X-Note": parts.join("") };
          const secrets = createSecretRegistry();
          const { entries, findings } = parseConfiguration(withEntry(networkEntry({ headers })), { secrets });
          const substituted = substituteEntry(entries[0]!, context({ A, B }));
          const hasError = [...findings, ...substituted.findings].some(({ severity }) => severity === "error");
          const { entry } = substituted;
          const sent = entry?.type === "http" ? (entry.headers["X-Note"] ?? "") : "";
          expect(hasError || headerValueDefect(sent) === undefined).toBe(true);
        }),
      );
    });
  });

  test("reports a scheme in the variable as well as in the file", () => {
    expect(codesOf(bearer, { API_TOKEN: "Bearer abc" })).toEqual(["error authorization-doubled"]);
  });

  test("warns if Basic is not followed by the base64 of user:password", () => {
    const basic = networkEntry({ headers: { Authorization: "Basic ${CREDENTIALS}" } });
    expect(codesOf(basic, { CREDENTIALS: "user:password" })).toEqual(["warning basic-credentials"]);
    expect(codesOf(basic, { CREDENTIALS: Buffer.from("user:password").toString("base64") })).toEqual([]);
  });

  test("warns about a placeholder in a credential", () => {
    for (const value of ["<API_TOKEN>", "your-token-here", "changeme", "xxxx"]) {
      expect(codesOf(bearer, { API_TOKEN: value })).toEqual(["warning variable-placeholder"]);
    }
  });
});

describe("a url", () => {
  test.each([
    ["https://${API_HOST}/mcp", "api.example.com", "https://api.example.com/mcp"],
    ["https://${API_HOST}/mcp", "api.example.com:8443", "https://api.example.com:8443/mcp"],
    ["https://${API_HOST}/mcp", "[2001:db8::1]:8443", "https://[2001:db8::1]:8443/mcp"],
    ["https://${API_HOST}:${PORT:-8443}/mcp", "10.0.0.7", "https://10.0.0.7:8443/mcp"],
    ["https://${TENANT}.example.com/mcp", "eu.acme_corp", "https://eu.acme_corp.example.com/mcp"],
    ["https://api.${DOMAIN}/mcp", "example.com", "https://api.example.com/mcp"],
    ["https://api${SUFFIX:-}.example.com", "", "https://api.example.com"],
    ["${API_URL}/mcp", "https://api.example.com", "https://api.example.com/mcp"],
    ["${API_URL}/mcp", "https://api.example.com/", "https://api.example.com/mcp"],
    ["${API_URL}/mcp?a=1", "https://api.example.com:8443/v1", "https://api.example.com:8443/v1/mcp?a=1"],
    ["${API_URL}?a=1", "https://api.example.com/mcp", "https://api.example.com/mcp?a=1"],
    ["${API_URL}", "https://api.example.com/mcp?tenant=a", "https://api.example.com/mcp?tenant=a"],
    ["${API_URL}:8443/mcp", "https://api.example.com", "https://api.example.com:8443/mcp"],
    ["${SCHEME}://api.example.com/mcp", "https", "https://api.example.com/mcp"],
    ["https://api.example.com/mcp#${PART}", "a b", "https://api.example.com/mcp#a%20b"],
  ])("[TS-FIELD-3, TS-D-URL-1] accepts a variable anywhere in a url: %s with %j", (url, value, resolved) => {
    const name = /\$\{(\w+)/.exec(url)?.[1] ?? "";
    expect(urlOf(url, { [name]: value })).toBe(resolved);
  });

  const hostile = [
    ...[
      "a/b",
      "a@b",
      "user:pass@a",
      "a?b",
      "a#b",
      "a\\b",
      "a b",
      "a\tb",
      "a\nb",
      "\na",
      "a\r\nb",
      "",
      ".",
      "a..b",
      ".a",
    ],
    // Look-alikes, full stops of other scripts, escapes, and characters that URL parsers drop or map.
    ...["\u0430pi", "a\u3002b", "a\uff0eb", "a\uff0fb", "a%2eb", "a%2fb", "a\u00adb", "a\u200bb", "\u00e4", "\ufeffa"],
    ...["https://a", "a:1", "[::1]", "a".repeat(64)],
  ];

  test.each(hostile)("[TS-D-URL-1] rejects a value that is not part of a host: %j", (value) => {
    expect(urlOf("https://${T}.example.com/mcp", { T: value })).toBeUndefined();
  });

  test.each([
    ...hostile.filter((value) => !["a:1", "[::1]"].includes(value)),
    "a:0",
    "a:65536",
    "a:1:2",
    "[::1",
    "::1",
    "2130706433",
    "0x7f.1",
  ])("[TS-D-URL-1] rejects a value that is not a host: %j", (value) => {
    expect(urlOf("https://${H}/mcp", { H: value })).toBeUndefined();
  });

  test.each([
    ...["api.example.com", "//api.example.com", "https:", "https://", "https:///x", "https:api.example.com", ""],
    ...["https://user@a.example.com", "https://user:pass@a.example.com", "https://a.example.com@evil.example"],
    ...["https://a.example.com\\@evil.example", "https:\\\\a.example.com", "https://a.example.com#@evil.example"],
    ...[
      "https://a.example.com?x=",
      "https://a.example.com/#x",
      "https://a.example.com/../x",
      "https://a.example.com/%2e%2e",
    ],
    ...[
      "https://a.example.com\n",
      "https://a.example.com/\nx",
      "https://a. example.com",
      "https://\u0430pi.example.com",
    ],
    ...["https://a.example.com:0", "https://a.example.com:99999", "https://a..example.com", "https://%61.example.com"],
    ...["ftp://a.example.com", "file:///etc/passwd", "javascript://a.example.com", "wss://a.example.com"],
    ...["http://a.example.com", "http://localhost.evil.example"],
  ])("[TS-D-URL-1, TS-SEC-3] rejects a value that is not an https origin: %j", (value) => {
    expect(urlOf("${API_URL}/mcp", { API_URL: value })).toBeUndefined();
  });

  test("[TS-D-URL-3, TS-SEC-3] accepts http from a variable only for a loopback host", () => {
    const resolved = (url: string, variables: Variables): string | undefined => {
      const { entries, findings } = parseConfiguration(withEntry({ type: "http", url }));
      if (entries[0] === undefined || findings.some(({ severity }) => severity === "error")) return undefined;
      const { entry } = substituteEntry(entries[0], context(variables));
      return entry && "url" in entry ? entry.url : undefined;
    };
    for (const [url, variables] of [
      ["${API_URL}/mcp", { API_URL: "http://localhost:3000" }],
      ["http://${API_HOST}/mcp", { API_HOST: "127.0.0.1:3000" }],
      ["${SCHEME}://[::1]:3000/mcp", { SCHEME: "http" }],
    ] as const) {
      expect(resolved(url, variables), url).toMatch(/^http:.*:3000\/mcp$/);
    }
    for (const [url, variables] of [
      ["${API_URL}/mcp", { API_URL: "http://api.example.com" }],
      ["http://${API_HOST}/mcp", { API_HOST: "localhost.evil.example" }],
      ["http://${API_HOST}/${PART}", { API_HOST: "localhost.evil.example", PART: "mcp" }],
      ["${SCHEME}://api.example.com/mcp", { SCHEME: "http" }],
    ] as const) {
      expect(resolved(url, variables), url).toBeUndefined();
    }
    expect(codesOf({ type: "http", url: "${API_URL}" }, { API_URL: "http://a.example.com" })).toEqual([
      "error url-insecure",
    ]);
    expect(codesOf({ type: "ws", url: "${API_URL}" }, { API_URL: "https://a.example.com" })).toEqual([
      "error url-scheme",
    ]);
    // The note about http was reported when the configuration was parsed.
    expect(codesOf({ type: "http", url: "${API_URL}" }, { API_URL: "http://localhost" })).toEqual([]);
  });

  test.each<[string, Variables, string]>([
    [
      "https://${T}/mcp",
      { T: "a b" },
      "The value of T is not valid in the host of the url: it contains the character U+0020, but a host can contain only letters, digits, hyphens, underscores and dots. Set T to only the host.",
    ],
    [
      "https://${A}.${B}/mcp",
      { A: "a", B: ".b" },
      "The url is invalid: after substitution, a label of the host is empty or too long. Set A, B again.",
    ],
    [
      "https://2130706433/mcp",
      {},
      "The url is invalid: after substitution, the host is an IP address that is not written as four decimal numbers. Set the url again.",
    ],
    ["a.example/mcp", {}, "The url is not an absolute URL. Write https://host/path, without spaces."],
    [
      "${A}://${B}/mcp",
      { A: "http", B: "a.example" },
      "The url uses http://, so anyone on the network path could read and change the traffic, including credentials. Set A, B so that the url starts with https://.",
    ],
  ])("explains what is wrong with the url %s and %j, and which variables to set", (url, variables, expected) => {
    const { findings } = substituteEntry(entryOf(withEntry({ type: "http", url })), context(variables));
    expect(findings.map(({ message, fix }) => `${message} ${fix}`)).toEqual([expected]);
  });

  test.each([
    "ghp_q7Zp2LxV9bTn4RkW8sYd3Hf6",
    "sk-ant-q7Zp2LxV9bTn4RkW8sYd3Hf6",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "q7Zp2LxV9bTn4RkW8sYd3Hf6",
    "token-of-the-user-1",
    "TOKEN-OF-THE-USER-1.evil.example",
    Buffer.from("token-of-the-user-1").toString("hex"),
  ])("[TS-D-URL-6] rejects a value that looks like a credential in the host of a url: %s", (value) => {
    const token = "token-of-the-user-1";
    for (const [url, prefix] of [
      ["https://${T}.example.com/mcp", ""],
      ["https://${T}/mcp", ""],
      ["${T}/mcp", "https://"],
    ] as const) {
      const entry = networkEntry({ url, headers: { Authorization: "Bearer ${SESSION}" } });
      const given = { T: `${prefix}${value}`, SESSION: token };
      const { entry: resolved, findings } = substituteEntry(entryOf(withEntry(entry)), context(given));
      expect(resolved, url).toBeUndefined();
      expect(
        findings.map(({ code }) => code),
        url,
      ).toEqual(["url-secret"]);
      expect(JSON.stringify(findings)).not.toContain(value);
    }
  });

  test("[TS-D-URL-2] percent-encodes values in path and query, and rejects dot segments", () => {
    const url = "https://a.example.com/${P}/x?q=${Q}";
    expect(urlOf(url, { P: "a/b?c#d", Q: "1&r=2#x" })).toBe("https://a.example.com/a%2Fb%3Fc%23d/x?q=1%26r%3D2%23x");
    for (const dots of [".", ".."]) expect(urlOf(url, { P: dots, Q: "1" })).toBeUndefined();
    expect(urlOf("https://a.example.com/.${P}/x", { P: "." })).toBeUndefined();
    expect(urlOf("https://a.example.com/%2e${P}/x", { P: "." })).toBeUndefined();
  });

  test("accepts only a number as port of a url", () => {
    expect(urlOf("https://a.example.com:${P}/", { P: "8443" })).toBe("https://a.example.com:8443/");
    for (const port of ["0", "65536", "80/x", "-1", ""])
      expect(urlOf("https://a.example.com:${P}/", { P: port })).toBeUndefined();
  });

  test("[TS-D-URL-1, TS-D-URL-2] keeps the literal parts of a url, whatever the values are", () => {
    const nasty = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(fc.constantFrom(..."/@?#:.\\%&=+2fe ;\t\n[]aZ0-_"), { maxLength: 8 }).map((units) => units.join("")),
    );
    const entries = [
      "https://${T}.example.com:8443/a/${S}/b?q=${Q}&r=1",
      "https://eu-${T}.example.com/${S}?${Q}",
      "https://a.example.com:${P}/${S}${Q}/end",
    ].map((template) => ({
      entry: entryOf(withEntry({ type: "http", url: template })),
      plain: new URL(template.replace("${P}", "1").replace(/\$\{\w\}/g, "v")),
    }));
    fc.assert(
      fc.property(nasty, nasty, nasty, nasty, (tenant, port, segment, query) => {
        const variables = { T: tenant, P: port, S: segment, Q: query };
        for (const { entry, plain } of entries) {
          const text = substitutedUrl(entry, variables);
          if (text === undefined) continue;
          const url = new URL(text);
          expect([url.protocol, url.username, url.password, url.hash]).toEqual(["https:", "", "", ""]);
          expect(url.hostname.endsWith(".example.com")).toBe(true);
          expect(url.pathname.split("/").length).toBe(plain.pathname.split("/").length);
          expect([...url.searchParams.keys()].length).toBe([...plain.searchParams.keys()].length);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("[TS-D-URL-1] uses exactly the host of the value, whatever follows it", () => {
    const pieces = fc.constantFrom(
      "https://",
      "http://",
      "a.example",
      "b.example",
      "@",
      ":",
      "/",
      "\\",
      "?",
      "#",
      "1",
      "..",
      "%40",
      "\n",
    );
    const value = fc.array(pieces, { maxLength: 6 }).map((parts) => parts.join(""));
    const entries = ["${API_URL}/mcp", "${API_URL}", "https://${API_URL}/mcp"].map((url) =>
      entryOf(withEntry({ type: "http", url })),
    );
    fc.assert(
      fc.property(value, (text) => {
        for (const entry of entries) {
          const resolved = substitutedUrl(entry, { API_URL: text });
          if (resolved === undefined) continue;
          const { hostname, username, password } = new URL(resolved);
          expect([username, password]).toEqual(["", ""]);
          expect(text.replace(/^https:\/\//, "").startsWith(hostname)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("the origin of a url", () => {
  const originOf = (entry: unknown, variables: Variables = {}): unknown =>
    resolveOrigin(entryOf(withEntry(entry)), variables);

  test("the origin of a url depends only on the variables in the origin", () => {
    expect(originOf(networkEntry({ url: "https://${H}:8443/${P}?${Q}" }), { H: "api.example.com" })).toEqual({
      origin: "https://api.example.com:8443",
    });
    expect(originOf(networkEntry({ url: "${U}/${P}" }), { U: "https://api.example.com/v1" })).toEqual({
      origin: "https://api.example.com",
    });
  });

  test("the origin of a url is not resolved if it contains no variable, or if the entry has no url", () => {
    expect(originOf(networkEntry({ url: "https://api.example.com/${P}" }))).toBeUndefined();
    expect(originOf({ command: "x", args: ["${H}"] })).toBeUndefined();
  });

  test("the origin of a url has a problem if a variable of it cannot be used", () => {
    expect(originOf(networkEntry({ url: "https://${H}/" }))).toEqual({
      problem: expect.stringMatching(/^H is not set, but url needs it\. Export it/),
    });
    expect(originOf(networkEntry({ url: "https://${H}/" }), { H: "a/b" })).toEqual({
      problem: expect.stringContaining("not valid in the host of the url"),
    });
  });

  test("[TS-D-URL-6] accepts a path that looks like a credential from a variable, but not such a host", () => {
    const value = "q7Zp2LxV9bTn4RkW8sYd3Hf6";
    expect(urlOf("${U}", { U: `https://api.example.com/${value}` })).toBe(`https://api.example.com/${value}`);
    expect(urlOf("${U}", { U: `https://api.example.com?${value}` })).toBe(`https://api.example.com?${value}`);
    expect(urlOf("${U}", { U: `https://${value}.example.com/` })).toBeUndefined();
  });

  test("the origin of a url has the problem that is an error, not the warning before it", () => {
    expect(originOf(networkEntry({ url: "https://${API_KEY}.example/" }), { API_KEY: "changeme" })).toEqual({
      problem: expect.stringMatching(/^The value of API_KEY was not used in the host of the url, because it contains/),
    });
  });

  test("the origin of a url that is not valid is not resolved", () => {
    expect(originOf({ type: "http", url: "${H} /mcp" }, { H: "https://a.example" })).toBeUndefined();
  });
});

describe("secrets", () => {
  test("registers the decoded password of Basic credentials only", () => {
    const secrets = createSecretRegistry();
    const value = Buffer.from("user:the-password").toString("base64");
    resolveEntry(entryOf(example("bearer")), { variables: { API_TOKEN: value }, pluginRoot: "/", secrets });
    expect(secrets.redact(`${value} the-password`)).toBe("[redacted] the-password");
  });

  test("[TS-D-SEC-2, TS-SEC-2] registers secrets by value, from headers and from the environment of a process", () => {
    const secrets = createSecretRegistry();
    const variables = {
      API_TOKEN: "token-value-1",
      WORKSPACE_ID: "workspace-1",
      DATABASE_URL: "postgres://me:p%40ssw0rd@host/db",
      DB_USER: "database-user",
      DB_PASSWORD: "password-2",
    };
    for (const name of ["tenant-by-header", "stdio-env"]) {
      resolveEntry(entryOf(example(name)), { variables, pluginRoot: "/plugin", secrets });
    }
    expect(secrets.redact("token-value-1 workspace-1 p%40ssw0rd p@ssw0rd database-user password-2")).toBe(
      "[redacted] workspace-1 [redacted] [redacted] database-user [redacted]",
    );
  });

  test("[TS-D-SEC-2] registers the value of a variable, but not a default, which everyone can read in the file", () => {
    const secrets = createSecretRegistry();
    const entry = entryOf(
      withEntry(networkEntry({ headers: { "X-API-Key": "${A:-the-default}", "X-Auth-Token": "${B:-other}" } })),
    );
    resolveEntry(entry, { variables: { B: "the-value-of-b" }, pluginRoot: "/", secrets });
    expect(secrets.redact("the-default the-value-of-b")).toBe("the-default [redacted]");
  });

  test("[TS-D-SEC-2] registers a password with a percent sign that does not start an escape", () => {
    const secrets = createSecretRegistry();
    const entry = entryOf(withEntry({ command: "x", env: { DATABASE_URL: "${DATABASE_URL}" } }));
    const variables = { DATABASE_URL: "postgres://me:100%zz-word@host/db" };
    resolveEntry(entry, { variables, pluginRoot: "/", secrets });
    expect(secrets.redact("the password 100%zz-word")).toBe("the password [redacted]");
  });

  test("registers Basic credentials as base64 and as the decoded password", () => {
    const secrets = createSecretRegistry();
    const value = Buffer.from("user:the-password").toString("base64");
    resolveEntry(entryOf(example("basic")), { variables: { BASE64_CREDENTIALS: value }, pluginRoot: "/", secrets });
    expect(secrets.redact(`${value} the-password`)).toBe("[redacted] [redacted]");
  });

  test("[TS-SEC-2] quotes a secret in no finding and no error", () => {
    const value = "s3cret-value ${nested}\n";
    const entry = entryOf(example("bearer"));
    const { findings } = substituteEntry(entry, context({ API_TOKEN: value }));
    expect(findings.length).toBeGreaterThan(0);
    expect(JSON.stringify(findings)).not.toContain("s3cret");
    try {
      resolveEntry(entry, context({ API_TOKEN: value }));
      expect.unreachable();
    } catch (error) {
      expect(ToolServerError.is(error, "VARIABLE_UNUSABLE")).toBe(true);
      expect(String(error)).not.toContain("s3cret");
    }
  });
});

test("lists the fields of each variable, and whether it is secret or has a default", () => {
  const { uses } = substituteEntry(entryOf(example("stdio-env")), context());
  expect(uses).toEqual([
    { variable: "DB_SCHEMA", server: "database", field: "args[2]", isSecret: false, hasDefault: true },
    { variable: "DATABASE_URL", server: "database", field: "env.DATABASE_URL", isSecret: true, hasDefault: false },
    { variable: "DB_USER", server: "database", field: "env.DB_USER", isSecret: false, hasDefault: false },
    { variable: "DB_PASSWORD", server: "database", field: "env.DB_PASSWORD", isSecret: true, hasDefault: false },
  ]);
});

test.each([
  "https://api.example.com${workspaceFolderBasename}/mcp",
  "https://${workspaceFolderBasename}.example.com/mcp",
  "https://${workspaceFolder}.example.com/mcp",
])("[TS-D-TRUST-1] the name of a folder does not decide the host of %s", (url) => {
  const entry = entryOf(withEntry({ type: "http", url }));
  expect(resolveOrigin(entry, {})).toEqual({
    problem: expect.stringMatching(/^workspaceFolder(?:Basename)? cannot be in the host of the url\./),
  });
  const { findings } = substituteEntry(entry, {
    variables: {},
    pluginRoot: "/home/user/.evil.example",
    secrets: createSecretRegistry(),
  });
  expect(findings).toMatchObject([{ code: "variable-misplaced", severity: "error" }]);
});
