import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import { example, examples, networkEntry, withEntry } from "./examples.test.helper.js";
import { formatPath } from "./finding.js";
import { type ParseConfigurationOptions, parseConfiguration } from "./parse-configuration.js";
import { substituteEntry } from "./substitute-entry.js";
import { variableUses } from "./variable-uses.js";

function codesOf(text: string, options?: ParseConfigurationOptions): string[] {
  return parseConfiguration(text, options).findings.map(({ code, severity }) => `${severity} ${code}`);
}

function ofEntry(entry: unknown): string[] {
  return codesOf(withEntry(entry));
}

function ofUrl(url: string, type = "http"): string[] {
  return ofEntry({ type, url });
}

function ofHeaders(headers: Record<string, string>): string[] {
  return ofEntry(networkEntry({ headers }));
}

function ofEnv(env: Record<string, string>): string[] {
  return ofEntry({ command: "node", env });
}

test.each([...examples])("finds nothing wrong with the specification's example %s", (_, text) => {
  expect(codesOf(text)).toEqual([]);
});

describe("the file", () => {
  test("[TS-FILE-1, TS-D-FILE-1] accepts entries by name at the top level or in mcpServers, and a $schema", () => {
    const entry = networkEntry();
    for (const file of [
      { a: entry, b: entry },
      { mcpServers: { a: entry, b: entry }, $schema: "x" },
    ]) {
      const { entries, findings } = parseConfiguration(JSON.stringify(file));
      expect(entries.map(({ name }) => name)).toEqual(["a", "b"]);
      expect(findings).toEqual([]);
    }
  });

  test("[TS-FILE-2, TS-D-TYPE-1, TS-D-TYPE-2] accepts network servers of three types, and stdio servers with and without a type", () => {
    const text = JSON.stringify({
      a: networkEntry(),
      b: networkEntry({ type: "sse" }),
      c: { type: "ws", url: "wss://api.example.com" },
      d: { command: "node" },
      e: { type: "stdio", command: "node" },
    });
    const { entries, findings } = parseConfiguration(text);
    expect(findings).toEqual([]);
    expect(entries.map(({ type }) => type)).toEqual(["http", "sse", "ws", "stdio", "stdio"]);
  });

  test.each([
    ["[]", "error file-shape"],
    ["{}", "warning file-shape"],
    ['{"mcpServers": {}}', "warning file-shape"],
    ['{"mcpServers": []}', "error file-shape"],
    ['{"mcpServers": {"a": {"command": "x"}}, "b": {"command": "x"}}', "warning file-shape"],
    ['{"mcpServers": {"a": {"command": "x"}}, "theme": "dark"}', "note file-shape"],
    ['{"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "y"}}}', "warning file-shape"],
    ['{"a": 1}', "error entry-shape"],
    ['{" ": {"command": "x"}}', "error server-name"],
    ['{"a": {"command": "x"}, "a": {"command": "x"}}', "error json-duplicate-key"],
    ["{", "error json-syntax"],
  ])("[TS-D-FILE-3] reports a file with the wrong structure: %j", (text, code) => {
    expect(codesOf(text)).toEqual([code]);
  });

  test("[TS-D-FILE-3] accepts comments and trailing commas, and keeps positions right", () => {
    const text = `\ufeff// The servers of this project.
{
  "mcpServers": {
    /* Signs in
       in the browser. */
    "notes": { "type": "http", "url": "https://notes.example.com/mcp", },
    "files": { "command": "files-server", "args": ["--root", "/srv",], }, // local
    "broken": { "type": "http", "url": "nowhere" },
  },
}
`;
    const { entries, findings } = parseConfiguration(text);
    expect(entries.map(({ name, line, column }) => `${line}:${column} ${name}`)).toEqual([
      "6:5 notes",
      "7:5 files",
      "8:5 broken",
    ]);
    expect(findings.map(({ code, line, column }) => `${line}:${column} ${code}`)).toEqual(["8:40 url-invalid"]);
    expect(entries[1]?.written).toEqual({ command: "files-server", args: ["--root", "/srv"] });
  });

  test("[TS-D-FILE-4] reports every problem at once, with its position, its rule and a fix", () => {
    const text = `{
  "mcpServers": {
    "one": { "url": "http://api.example.com", "headers": { "Authorization": "\${TOKEN}" }, "heders": {} },
    "two": { "type": "stdio", "command": "x", "args": "y", "type": "stdio" }, // args should be a list
  },
}`;
    const { findings } = parseConfiguration(text);
    expect(findings.map(({ code, path, line, column }) => `${line}:${column} ${code} ${formatPath(path)}`)).toEqual([
      "3:21 url-insecure mcpServers.one.url",
      "3:77 authorization-scheme mcpServers.one.headers.Authorization",
      "3:91 field-unknown mcpServers.one.heders",
      "4:55 field-type mcpServers.two.args",
      "4:60 json-duplicate-key mcpServers.two.type",
    ]);
    for (const { message, fix } of findings) {
      expect(message).toMatch(/^\S.*\.$/);
      expect(fix).toMatch(/^\S.*[.?]$/);
    }
    expect(findings[2]?.fix).toBe("Did you mean headers?");
  });

  test.each([
    [
      "in a field",
      '{"mcpServers": {"a": {"command": "x", "env": {"K": "1", "K": "2"}}, "b": {"command": "y"}}}',
      ["a"],
    ],
    ["in an entry at the top level", '{"a": {"command": "x", "command": "z"}, "b": {"command": "y"}}', ["a"]],
    ["in an entry in mcp.servers", '{"mcp": {"servers": {"a": {"command": "x", "command": "z"}}}}', ["a"]],
    ["as a name", '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"}}}', ["a"]],
    ["in a replaced entry", '{"mcpServers": {"a": {"url": "", "url": ""}, "a": {"command": "z"}}}', ["a", "a"]],
    [
      "as the object of servers",
      '{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "y"}}}',
      ["-"],
    ],
    ["in an input", '{"inputs": [{"id": "i", "id": "j"}], "servers": {"a": {"command": "x"}}}', ["-"]],
    [
      "in what another program uses",
      '{"theme": {"x": 1, "x": 2}, "theme": 1, "mcpServers": {"a": {"command": "x"}}}',
      [],
    ],
  ])("[TS-D-FILE-3] disables only the entry that a key is repeated in: %s", (_, text, disabled) => {
    const { entries, findings } = parseConfiguration(text);
    const repeated = findings.filter(({ code }) => code === "json-duplicate-key");
    expect(repeated.length).toBeGreaterThan(0);
    const errors = repeated.filter(({ severity }) => severity === "error");
    expect(errors.map(({ server = "-" }) => server)).toEqual(disabled);
    expect(entries.map(({ name }) => name)).not.toEqual([]);
  });

  test("[TS-D-FILE-3] disables the whole file if it has too many repeated keys to report each", () => {
    const twice = Array.from({ length: 101 }, (_, index) => `"s${index}": {"command": "x", "command": "y"}`);
    const { findings } = parseConfiguration(`{"mcpServers": {${twice.join(", ")}}}`);
    expect(findings.every(({ server, severity }) => server === undefined && severity === "error")).toBe(true);
  });

  test("never throws, whatever the file contains", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        parseConfiguration(JSON.stringify(value));
        parseConfiguration(JSON.stringify({ a: value }));
        parseConfiguration(JSON.stringify({ a: { type: "http", url: value, headers: value, command: value } }));
      }),
    );
  });
});

describe("fields", () => {
  test.each([
    ["type", { type: 1, url: "https://a.example" }],
    ["url", { type: "http", url: 1 }],
    ["headers", networkEntry({ headers: ["a"] })],
    ["headers.A", networkEntry({ headers: { A: 1 } })],
    ["headersHelper", networkEntry({ headersHelper: {} })],
    ["command", { command: ["node"] }],
    ["args", { command: "node", args: "a" }],
    ["args[0]", { command: "node", args: [1] }],
    ["env", { command: "node", env: null }],
    ["env.A", { command: "node", env: { A: true } }],
    ['env["A=B"]', { command: "node", env: { "A=B": "x" } }],
  ])(
    "[TS-FIELD-1, TS-FIELD-2, TS-FIELD-4, TS-FIELD-5, TS-FIELD-6, TS-FIELD-7, TS-FIELD-8] reports fields that do not have the JSON type of the format: %s",
    (path, entry) => {
      const { findings } = parseConfiguration(withEntry(entry));
      expect(findings.map(({ code }) => code)).toEqual(["field-type"]);
      expect(formatPath(findings[0]?.path ?? [])).toBe(`mcpServers.s.${path}`.replace(".[", "["));
    },
  );

  test("[TS-D-FILE-5] reports unknown fields as notes, and as warnings with a suggestion if they are misspelled", () => {
    const { findings } = parseConfiguration(withEntry(networkEntry({ Headers: {}, headers_helper: "x", wibble: 1 })));
    expect(findings.map(({ severity, code, fix }) => [severity, code, fix])).toEqual([
      ["warning", "field-unknown", "Did you mean headers?"],
      ["warning", "field-unknown", "Did you mean headersHelper?"],
      ["note", "field-unknown", "Keep it for the program that uses it."],
    ]);
  });

  test("[TS-FIELD-4, TS-FIELD-5, TS-FIELD-7, TS-FIELD-8, TS-D-FILE-5] notes fields that have no effect in entries of this kind", () => {
    expect(ofEntry(networkEntry({ args: [], env: {} }))).toEqual(["note field-misplaced", "note field-misplaced"]);
    expect(ofEntry({ command: "node", headers: {}, headersHelper: "./x" })).toEqual([
      "note field-misplaced",
      "note field-misplaced",
    ]);
  });

  test("[TS-FIELD-2, TS-FIELD-6, TS-D-FILE-6] reports an entry with both url and command, or with neither", () => {
    expect(ofEntry({ type: "http", url: "https://a.example.com", command: "x" })).toEqual(["error field-conflict"]);
    expect(ofEntry({})).toEqual(["error field-missing"]);
    expect(ofEntry({ type: "http" })).toEqual(["error field-missing"]);
    expect(ofEntry({ type: "stdio" })).toEqual(["error field-missing"]);
    expect(ofEntry({ type: "http", url: " " })).toEqual(["error field-missing"]);
  });

  test("[TS-MTLS-1] notes fields for client certificates, which do not exist", () => {
    expect(ofEntry(networkEntry({ cert: "a.pem", key: "a.key" }))).toEqual([
      "note field-unknown",
      "note field-unknown",
    ]);
  });

  test("[TS-MTLS-2] accepts the paths of certificate and key as arguments of a wrapper", () => {
    const { entries, findings } = parseConfiguration(example("mutual-tls"));
    expect(findings).toEqual([]);
    expect(entries).toMatchObject([{ type: "stdio", args: [{}, { field: "args[1]" }, {}, {}, {}] }]);
  });
});

describe("the type", () => {
  test("[TS-D-TYPE-3] a url without a type is Streamable HTTP with fallback to SSE, or a WebSocket by its scheme", () => {
    const { entries, findings } = parseConfiguration(
      JSON.stringify({
        a: { url: "https://a.example.com" },
        b: { url: "wss://a.example.com" },
        c: { type: "http", url: "https://a.example.com" },
      }),
    );
    expect(findings).toEqual([]);
    expect(entries).toMatchObject([
      { type: "http", fallsBackToSse: true },
      { type: "ws", fallsBackToSse: false },
      { type: "http", fallsBackToSse: false },
    ]);
  });

  test.each([
    ["streamable-http", "http"],
    ["streamableHttp", "http"],
    ["streamable_http", "http"],
    ["websocket", "ws"],
  ])("[TS-D-DIALECT-2] accepts %s as another spelling of the type %s", (type, meant) => {
    const { entries, findings } = parseConfiguration(
      withEntry({ type, url: `${meant === "ws" ? "wss" : "https"}://a.example.com` }),
    );
    expect(findings).toEqual([]);
    expect(entries).toMatchObject([{ type: meant, fallsBackToSse: false }]);
  });

  test.each([
    ["web-socket", "ws"],
    ["SSE", "sse"],
    ["htp", "http"],
  ])("[TS-FIELD-1] reports an unknown type as an error with a suggestion: %s", (type, meant) => {
    const { findings } = parseConfiguration(withEntry({ type, url: "https://a.example.com" }));
    expect(findings.find(({ code }) => code === "type-unknown")).toMatchObject({
      fix: `Write "${meant}".`,
      suggested: { write: `"${meant}"` },
    });
  });

  test("[TS-FIELD-1] reports a type that does not match url or command", () => {
    expect(ofEntry({ type: "stdio", url: "https://a.example.com" })).toEqual(["error type-mismatch"]);
    expect(ofEntry({ type: "http", command: "node" })).toEqual(["error type-mismatch"]);
  });

  test("[TS-OAUTH-1] accepts an entry that has only a type and a url", () => {
    const { entries, findings } = parseConfiguration(example("oauth"));
    expect(findings).toEqual([]);
    expect(entries).toMatchObject([
      { type: "sse", headers: [], headersHelper: undefined },
      { type: "http", headers: [], headersHelper: undefined },
    ]);
  });
});

describe("the url", () => {
  test.each([
    ["http://api.example.com", "http", "url-insecure"],
    ["ws://api.example.com", "ws", "url-insecure"],
    ["http://127.0.0.1.evil.example", "http", "url-insecure"],
    ["http://localhost.evil.example", "sse", "url-insecure"],
    ["http://sub.localhost", "http", "url-insecure"],
    ["http://evillocalhost", "http", "url-insecure"],
    ["http://localhost.", "http", "url-insecure"],
    ["wss://api.example.com", "http", "url-scheme"],
    ["https://api.example.com", "ws", "url-scheme"],
    ["ftp://api.example.com", "http", "url-scheme"],
  ])(
    "[TS-FIELD-2, TS-SEC-3, TS-D-URL-3] requires https in the url, or wss for WebSocket: %s of type %s",
    (url, type, code) => {
      expect(ofUrl(url, type)).toEqual([`error ${code}`]);
    },
  );

  test.each([
    ["http", "http://localhost:3000/mcp"],
    ["sse", "http://127.0.0.1/sse"],
    ["ws", "ws://[::1]:80/"],
    ["http", "http://127.1.2.3"],
  ])("[TS-D-URL-3] notes an insecure url with type %s for localhost, which an approval allows: %s", (type, url) => {
    const text = withEntry({ type, url });
    expect(codesOf(text)).toEqual(["note url-loopback"]);
    expect(parseConfiguration(text).findings).toMatchObject([
      { message: expect.stringContaining("It is allowed by the approval of its entry.") },
    ]);
  });

  test.each([
    "api.example.com",
    "/mcp",
    "https://",
    "https://a b.example.com",
    "https:\\\\a.example.com",
    "https://a.example.com:99999",
    "https://${A}.0.0.1",
    "${API_URL}@a.example.com",
    "api.${DOMAIN}/mcp",
  ])("rejects a url that is not absolute: %s", (url) => {
    expect(ofUrl(url)).toEqual(["error url-invalid"]);
  });

  test("[TS-D-URL-5] rejects a url with a user name or password", () => {
    expect(ofUrl("https://user@a.example.com")).toEqual(["error url-credentials"]);
    expect(ofUrl("https://${USER}:${PASSWORD}@a.example.com")).toEqual(["error url-credentials"]);
    expect(ofUrl("https://a:hunter22@a.example.com").toSorted()).toEqual([
      "error literal-secret",
      "error url-credentials",
    ]);
  });

  test("rejects a url with a fragment", () => {
    expect(ofUrl("https://a.example.com/#part")).toEqual(["warning url-fragment"]);
  });

  test("[TS-FIELD-3, TS-TENANT-2] accepts variables in a label of the host, the port, the path and the query of the url", () => {
    expect(ofUrl("https://${TENANT}.example.com:${PORT}/${A}/x-${B}?c=${C}")).toEqual([]);
    expect(ofUrl("https://eu-${TENANT}.api.example.com/")).toEqual([]);
  });

  test.each([
    "https://${HOST}/mcp",
    "https://${A}.com",
    "https://api.${DOMAIN}",
    "https://x.${A}${B}",
    "${API_URL}/mcp",
    "${API_URL}",
    "${SCHEME}://a.example.com",
  ])("[TS-FIELD-3] accepts a variable as the host, origin or scheme of the url: %s", (url) => {
    expect(ofUrl(url)).toEqual([]);
  });

  test("[TS-SEC-3] rejects a url with http, whatever the variables are", () => {
    expect(ofUrl("http://${TENANT}.example.com")).toEqual(["error url-insecure"]);
    expect(ofUrl("http://${HOST}/mcp")).toEqual([]);
  });

  test("rejects a url that contains a secret, as a variable or as a literal", () => {
    expect(ofUrl("https://a.example.com/?key=${API_KEY}")).toEqual(["warning url-secret"]);
    for (const url of ["https://${API_TOKEN}.example.com", "https://a.example.com:${API_TOKEN}", "${API_TOKEN}/mcp"]) {
      expect(ofUrl(url)).toEqual(["error url-secret"]);
    }
    expect(ofUrl("https://a.example.com/?api_key=correcthorse")).toEqual(["error literal-secret"]);
  });

  test("[TS-TENANT-1, TS-TENANT-2] finds the variables in the url and the headers that select a tenant", () => {
    const tenants = (name: string) =>
      parseConfiguration(example(name)).entries.flatMap((e) => ("tenants" in e ? e.tenants : []));
    expect(tenants("tenant-by-host")).toEqual([{ variable: "TENANT_ID", via: "host", field: "url" }]);
    expect(parseConfiguration(withEntry({ type: "http", url: "https://${API_HOST}/" })).entries).toMatchObject([
      { tenants: [] },
    ]);
    expect(tenants("tenant-by-header")).toEqual([
      { variable: "WORKSPACE_ID", via: "header", field: "headers.X-Workspace-ID" },
    ]);
  });
});

describe("headers", () => {
  test("[TS-HEADER-1] accepts Authorization with Bearer or Basic and a variable", () => {
    expect(ofHeaders({ Authorization: "Bearer ${API_TOKEN}" })).toEqual([]);
    expect(ofHeaders({ authorization: "Basic ${BASE64_CREDENTIALS}" })).toEqual([]);
  });

  test.each([
    "${API_TOKEN}",
    "Bearer${API_TOKEN}",
    "Bearer  ${API_TOKEN}",
    " Bearer ${API_TOKEN}",
    "Bearer ",
    "Bearer",
    "",
  ])("[TS-BEARER-1, TS-ERR-1] reports Authorization without Bearer and one space: %j", (value) => {
    expect(ofHeaders({ Authorization: value })).toEqual(["error authorization-scheme"]);
    const { findings } = parseConfiguration(
      withEntry({ type: "http", url: "https://a.example.com", headers: { Authorization: value } }),
    );
    expect(findings[0]?.suggested).toEqual({ variable: "API_TOKEN", write: '"Bearer ${API_TOKEN}"' });
  });

  test.each([
    "Token ${T}",
    "ApiKey ${T}",
    "DPoP ${T}",
    "AWS4-HMAC-SHA256 Credential=${KEY_ID}/20260101/eu/s3/aws4_request, SignedHeaders=host, Signature=${SIGNATURE}",
    "Digest ${T}",
    "SSWS ${T}",
    "Splunk ${T}",
  ])("accepts Authorization with another scheme: %j", (value) => {
    expect(ofHeaders({ Authorization: value })).toEqual([]);
  });

  test("warns about a misspelled scheme, with a suggestion", () => {
    expect(ofHeaders({ Authorization: "Baerer ${T}" })).toEqual(["warning authorization-scheme"]);
  });

  test("reports a literal token after any scheme as a secret", () => {
    expect(ofHeaders({ Authorization: "ApiKey abc-def" })).toEqual(["error literal-secret"]);
  });

  test("warns about a scheme in another case", () => {
    expect(ofHeaders({ Authorization: "bearer ${API_TOKEN}" })).toEqual(["warning authorization-scheme"]);
  });

  test("[TS-HEADER-2, TS-KEY-1, TS-FIELD-4] accepts headers with any server-defined name, with variables", () => {
    const { entries, findings } = parseConfiguration(example("api-keys"));
    expect(findings).toEqual([]);
    expect(entries).toMatchObject([
      { headers: [{ name: "X-API-Key" }, { name: "X-API-Secret" }, { name: "X-Auth-Token" }, { name: "X-User-ID" }] },
    ]);
  });

  test.each(["", "a b", "a:", "a\nb", "ä", "a(b)"])(
    "[TS-D-HEADER-1] rejects header names that HTTP does not allow: %j",
    (name) => {
      expect(ofHeaders({ [name]: "x" })).toEqual(["error header-name"]);
    },
  );

  test.each(["a\nX-Evil: 1", "a\r\n", "a\u0000", "snow \u2603", "${A:-a\nb}"])(
    "[TS-D-HEADER-1] rejects header values that inject other headers: %j",
    (value) => {
      expect(ofHeaders({ "X-Name": value })).toEqual(["error header-value"]);
    },
  );

  test.each([
    ["is empty", "", "Write a value, or remove the header."],
    ["has leading or trailing white space", " x", "Correct it, or remove the header."],
    ["has leading or trailing white space", "x\t", "Correct it, or remove the header."],
    ["has leading or trailing white space", "${A} ", "Correct it, or remove the header."],
    ["is empty", "${NOT_SECRET:-}", "Correct it, or remove the header."],
    ["has more than 16384 characters", "x".repeat(16_385), "Correct it, or remove the header."],
  ])("[TS-D-HEADER-1] rejects a header value that can never be sent, because it %s", (defect, value, fix) => {
    expect(parseConfiguration(withEntry(networkEntry({ headers: { "X-Name": value } }))).findings).toMatchObject([
      { code: "header-value", severity: "error", message: `The value of X-Name ${defect}, so it cannot be sent.`, fix },
    ]);
  });

  test("[TS-D-HEADER-1, TS-ERR-1] rejects white space after the credentials of Authorization", () => {
    expect(ofHeaders({ Authorization: "Bearer ${API_TOKEN} " })).toEqual(["error header-value"]);
    expect(ofHeaders({ Authorization: "bearer ${API_TOKEN} " })).toEqual([
      "error header-value",
      "warning authorization-scheme",
    ]);
  });

  test("[TS-D-HEADER-1, TS-D-SUB-1] warns about a default that cannot be sent, because a value can", () => {
    const { findings } = parseConfiguration(withEntry(networkEntry({ headers: { "X-Tenant-ID": "${A:-}" } })));
    expect(findings).toMatchObject([
      {
        code: "header-value",
        severity: "warning",
        message: "With the default of A, the value of X-Tenant-ID is empty, so it cannot be sent.",
        fix: "Write another default, or none.",
      },
    ]);
    expect(ofHeaders({ "X-Name": "${A:- x}" })).toEqual(["warning header-value"]);
    expect(ofHeaders({ "X-Name": "a${A:-}" })).toEqual([]);
    expect(ofHeaders({ "X-Name": "${A}${B:-}" })).toEqual([]);
  });

  test("[TS-D-HEADER-2] rejects headers that the connection sets, and duplicates", () => {
    for (const name of ["Host", "content-length", "Transfer-Encoding", "Mcp-Session-Id", "Sec-WebSocket-Key"]) {
      expect(ofHeaders({ [name]: "x" })).toContain("error header-reserved");
    }
    expect(ofHeaders({ "X-Name": "x", "x-name": "y" })).toEqual(["error header-duplicate"]);
  });

  test("adds a note if an entry has both a helper and Authorization", () => {
    const headers = { Authorization: "Bearer ${API_TOKEN}" };
    expect(ofEntry(networkEntry({ headers, headersHelper: "./h.sh" }))).toEqual(["note helper-and-authorization"]);
  });
});

describe("literal secrets", () => {
  test.each([
    [{ Authorization: "Bearer correct-horse-battery" }],
    [{ Authorization: "Basic dXNlcjpwYXNzd29yZA==" }],
    [{ "X-API-Key": "abc" }],
    [{ "X-Auth-Token": "${TOKEN:-correct-horse}" }],
    [{ "X-Signature": "0123456789" }],
    [{ Cookie: "session=abc" }],
  ])("[TS-SEC-1, TS-D-SEC-1] finds literal secrets by the name of their header: %j", (headers) => {
    expect(ofHeaders(headers as Record<string, string>)).toEqual(["error literal-secret"]);
  });

  test("[TS-SEC-1, TS-D-SEC-1] finds literal secrets by the name of an environment variable or an argument", () => {
    expect(ofEnv({ DB_PASSWORD: "hunter2" })).toEqual(["error literal-secret"]);
    expect(ofEnv({ DATABASE_URL: "postgres://app:hunter22@localhost/db" })).toEqual(["error literal-secret"]);
    expect(ofEnv({ DATABASE_URL: "jdbc:postgresql://db/x?user=a&password=hunter2" })).toEqual(["error literal-secret"]);
    expect(ofEnv({ DATABASE_URL: "postgres://${U}:${DB_PASSWORD:-hunter2}@db/x" })).toEqual(["error literal-secret"]);
    expect(ofEnv({ DATABASE_URL: "postgres://${U:-me}:${P:-hunter2}@db/x" })).toEqual(["error literal-secret"]);
    expect(ofEnv({ SENTRY_DSN: "https://0a1b2c@sentry.example/1" })).toEqual(["error literal-secret"]);
    expect(ofEnv({ DB_PASSWORD: "${P:-hunter2}" })).toEqual(["error literal-secret"]);
    expect(ofEntry({ command: "x", args: ["--api-key", "abc", "--token=def"] })).toEqual([
      "error literal-secret",
      "error literal-secret",
    ]);
  });

  test("[TS-SEC-1, TS-D-SEC-1] finds literal secrets by their shape in every field", () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    expect(ofHeaders({ "X-Name": token })).toEqual(["error literal-secret"]);
    expect(ofEnv({ NAME: `x ${token}` })).toEqual(["error literal-secret"]);
    expect(ofEntry({ command: "x", args: [token] })).toEqual(["error literal-secret"]);
    expect(ofUrl(`https://a.example.com/${token}`)).toEqual(["error literal-secret"]);
    expect(ofEnv({ ADDRESS: "amqp://user:hunter22@host/" })).toEqual(["error literal-secret"]);
  });

  test.each([
    "postgres://localhost/dev",
    "postgres://app@localhost:5432/dev?sslmode=disable",
    "postgres://${U}:${P}@db/${N:-main}",
    "postgres://${U:-app}:${P}@db/main",
    "${DATABASE_URL:-postgres://localhost/dev}",
    "file:./dev.db",
  ])("reports no secret in an address without a password: %j", (address) => {
    expect(ofEnv({ DATABASE_URL: address })).toEqual([]);
  });

  test("reports no secret for a git commit", () => {
    const commit = "356a192b7913b04c54574d18c28d46e6395428ab";
    expect(ofEnv({ REVISION: commit })).toEqual([]);
    expect(ofEntry({ command: "x", args: ["--ref", commit, `git+https://git.example/a@${commit}`] })).toEqual([]);
    expect(ofEnv({ API_TOKEN: commit })).toEqual(["error literal-secret"]);
  });

  test("reports no secret for a value marked with NOT_SECRET, which reads no variable", () => {
    expect(ofEnv({ PUBLIC_KEY: "${NOT_SECRET:-pk_0a1b2c3d4e5f}" })).toEqual([]);
    expect(ofEnv({ NAME: `\${NOT_SECRET:-ghp_${"a1B2".repeat(9)}}` })).toEqual([]);
    expect(ofHeaders({ "X-API-Key": "${NOT_SECRET:-public-demo-key}" })).toEqual([]);
    const text = JSON.stringify({ s: { command: "x", env: { PUBLIC_KEY: "${NOT_SECRET:-pk_0a1b}" } } });
    const [entry] = parseConfiguration(text).entries;
    if (entry === undefined) throw new TypeError("The entry was not read.");
    expect(variableUses(entry)).toEqual([]);
    const secrets = createSecretRegistry();
    const { entry: resolved } = substituteEntry(entry, {
      variables: { NOT_SECRET: "other" },
      pluginRoot: "/",
      secrets,
    });
    expect(resolved).toMatchObject({ env: { PUBLIC_KEY: "pk_0a1b" } });
    expect(secrets.redact("pk_0a1b")).toBe("pk_0a1b");
  });

  test("reports no secret for values that only look similar", () => {
    expect(
      ofEnv({
        TOKEN_LIMIT: "4000",
        AUTH_URL: "https://a.example/x",
        KEY_FILE: "./a.pem",
        AUTH: "true",
        NODE_ENV: "production",
      }),
    ).toEqual([]);
    expect(ofHeaders({ "X-Workspace-ID": "b7b3c1de-3f0a-4a4e-9d0f-1d2c3b4a5f60", "User-Agent": "x/1.0" })).toEqual([]);
    expect(
      ofEntry({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "--key", "./client.key"] }),
    ).toEqual([]);
  });

  test("[TS-SEC-2] quotes a secret in no finding, not even if it is written as a name", () => {
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const texts = [
      withEntry(networkEntry({ headers: { Authorization: secret, "X-A": `\${${secret}}` } })),
      withEntry(networkEntry({ url: `http://${secret}:${secret}@a.example.com/${secret}#${secret}` })),
      withEntry({
        command: secret,
        args: [`--token=${secret}`, `$\{${secret}`],
        env: { TOKEN: secret, A: `\${${secret}}` },
      }),
    ];
    for (const text of texts) {
      const { findings } = parseConfiguration(text);
      expect(findings.length).toBeGreaterThan(0);
      expect(JSON.stringify(findings)).not.toContain(secret);
    }
  });
});

describe("variables", () => {
  test.each(["${", "${}", "${A", "${A B}", "${1A}", "${A:default}", "${A:-${B}}", "$API_TOKEN"])(
    "[TS-D-SUB-4] reports variables with wrong syntax: %j",
    (value) => {
      expect(ofEnv({ NAME: `x ${value}` })).toEqual(["error variable-malformed"]);
    },
  );

  test("[TS-SUB-2] allows HOST_PLUGIN_ROOT in command, args and headersHelper, and nowhere else", () => {
    const root = "${HOST_PLUGIN_ROOT}";
    expect(ofEntry({ command: `${root}/x`, args: [root] })).toEqual([]);
    expect(ofEntry(networkEntry({ headersHelper: `${root}/x` }))).toEqual([]);
    expect(ofEnv({ NAME: root })).toEqual(["error variable-misplaced"]);
    expect(ofHeaders({ "X-Name": root })).toEqual(["error variable-misplaced"]);
    expect(ofUrl(`https://a.example.com/${root}`)).toEqual(["error variable-misplaced"]);
  });

  test("warns about variables that decide which program runs", () => {
    expect(ofEntry({ command: "${TOOL}" })).toEqual(["warning variable-misplaced"]);
    expect(ofEntry(networkEntry({ headersHelper: "${HELPER}" }))).toEqual(["warning variable-misplaced"]);
  });
});

describe("variables in another form", () => {
  test("lets a bridge read $NAME in its arguments from env, so that a token is not an argument", () => {
    const args = ["bridge", "--header", "Authorization: Bearer $LEDGER_TOKEN", "https://ledger.example.com/mcp"];
    const env = { LEDGER_TOKEN: "${LEDGER_TOKEN}" };
    expect(ofEntry({ command: "wirescope", args, env })).toEqual([]);
    expect(ofEntry({ command: "node", args: ["/opt/bin/wirescope.js", ...args], env })).toEqual([]);
    const { findings } = parseConfiguration(withEntry({ command: "wirescope", args }));
    expect(findings).toMatchObject([
      { code: "variable-malformed", fix: 'Add "env": {"LEDGER_TOKEN": "${LEDGER_TOKEN}"} to the entry.' },
    ]);
    expect(ofEntry({ command: "other", args, env })).toEqual([]);
    expect(ofEntry({ command: "other", args })).toEqual(["warning variable-malformed"]);
  });

  test("reports %NAME% with a fix", () => {
    const { findings } = parseConfiguration(withEntry(networkEntry({ headers: { "X-API-Key": "%API_KEY%" } })));
    expect(findings).toMatchObject([
      { code: "variable-malformed", fix: "Write ${API_KEY}, which works on every system." },
    ]);
    expect(ofUrl("https://a.example.com/a%20b%2Fc")).toEqual([]);
  });
});
