import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import { foreignFields } from "./dialect-fields.js";
import { dialectOfFile, dialects } from "./dialects.js";
import { dialectFiles, dialectFixture } from "./dialects.test.helper.js";
import type { Entry, NetworkEntry, StdioEntry } from "./entry.js";
import { type Configuration, parseConfiguration } from "./parse-configuration.js";
import { resolveEntry, substituteEntry } from "./substitute-entry.js";
import { variablesOf } from "./template.js";

/** All fields of both kinds of entries. */
type AnyEntry = Omit<NetworkEntry, "type"> & Omit<StdioEntry, "type"> & Pick<Entry, "type">;

function errorsOf({ findings }: Configuration): string[] {
  return findings.filter(({ severity }) => severity === "error").map(({ server, message }) => `${server}: ${message}`);
}

function entryOf(configuration: Configuration, name: string): AnyEntry {
  return configuration.entries.find((entry) => entry.name === name) as unknown as AnyEntry;
}

/** An entry of a file with this name. */
function oneEntry(entry: object, file?: string): AnyEntry {
  return entryOf(parseConfiguration(JSON.stringify({ mcpServers: { s: entry } }), { file }), "s");
}

describe("the file of a program", () => {
  test.each(dialectFiles)(
    "[TS-D-DIALECT-1] reads %s without errors, with and without its path",
    (dialect, fixture, path) => {
      const text = dialectFixture(fixture);
      // Only by its path does Claude Desktop's file differ from the reference format.
      for (const file of dialect === "claude-desktop" ? [path] : [undefined, `/home/me/${path}`]) {
        const configuration = parseConfiguration(text, { file });
        expect(errorsOf(configuration)).toEqual([]);
        expect(configuration.entries.length).toBeGreaterThan(1);
        expect(configuration.dialect).toBe(dialect);
      }
    },
  );

  test("[TS-D-DIALECT-1] accepts entries of several dialects in one file", () => {
    const configuration = parseConfiguration(dialectFixture("mixed.json"), { file: "servers.json" });
    expect(errorsOf(configuration)).toEqual([]);
    expect(configuration.entries.map(({ name, type, callTimeoutMs }) => [name, type, callTimeoutMs])).toEqual([
      ["cursor", "http", undefined],
      ["cline", "http", 60_000],
      ["windsurf", "http", undefined],
      ["claude-code", "http", 60_000],
      ["vscode", "stdio", undefined],
      ["gemini", "http", undefined],
    ]);
  });

  test.each([
    ["a server called servers", { servers: { type: "local", command: ["a"] } }, ["servers"], "opencode"],
    ["mcp.servers of VS Code", { servers: { a: { command: "a" } } }, ["a"], "vscode"],
    ["mcp.servers of opencode", { servers: { a: { type: "local", command: ["a"] } } }, ["a"], "opencode"],
    [
      "both",
      { servers: { a: { type: "remote", url: "https://a" } }, b: { type: "local", command: ["b"] } },
      ["b", "a"],
      "opencode",
    ],
    ["a server called command", { servers: { command: { command: "a" } } }, ["command"], "vscode"],
  ])("[TS-D-DIALECT-1] finds the servers below mcp: %s", (_, mcp, names, dialect) => {
    const configuration = parseConfiguration(JSON.stringify({ mcp }));
    expect(errorsOf(configuration)).toEqual([]);
    expect(configuration.entries.map(({ name }) => name)).toEqual(names);
    expect(configuration.dialect).toBe(dialect);
  });

  test("[TS-D-DIALECT-1] does not read the settings of another program as servers", () => {
    for (const [file, key, text] of [
      ["/home/me/.config/opencode/opencode.json", "mcp", '{"model": "m", "enterprise": {"url": "https://a.example"}}'],
      ["/home/me/.config/opencode/opencode.json", "mcp", '{"mcp": {"servers": {}, "timeout": {"request": 1000}}}'],
      ["/home/me/.config/zed/settings.json", "context_servers", '{"theme": "One Dark", "vim": {"mode": true}}'],
      ["/home/me/.gemini/settings.json", "mcpServers", '{"theme": "GitHub", "mcp": {"allowed": ["a"]}}'],
    ] as const) {
      const { entries, findings } = parseConfiguration(text, { file });
      expect(entries).toEqual([]);
      const [first] = findings.filter(({ severity }) => severity !== "note");
      expect(first, file).toMatchObject({ severity: "warning", message: "The file contains no servers." });
      if (!text.includes("servers")) expect(first?.fix).toContain(key);
    }
  });

  test("[TS-D-DIALECT-1] skips an entry of opencode that only enables a server of another file", () => {
    const text = JSON.stringify({ mcp: { jira: { enabled: true }, a: { type: "local", command: ["a"] } } });
    const { entries, findings } = parseConfiguration(text);
    expect(entries.map(({ name }) => name)).toEqual(["a"]);
    expect(findings).toMatchObject([{ severity: "note", code: "file-shape", path: ["mcp", "jira"] }]);
  });

  test("[TS-D-DIALECT-3] keeps the other entries usable if one has an error", () => {
    const text = JSON.stringify({
      servers: { broken: { type: "http", url: "http://example.com/mcp" }, fine: { url: "https://example.com/mcp" } },
    });
    const { entries, findings } = parseConfiguration(text);
    expect(entries.map(({ name }) => name)).toEqual(["broken", "fine"]);
    expect(findings.map(({ severity, server, code }) => [severity, server, code])).toEqual([
      ["error", "broken", "url-insecure"],
    ]);
  });

  test("[TS-D-DIALECT-1] recognizes the dialect of a file by its path, also on Windows", () => {
    expect(dialectOfFile("C:\\Users\\me\\.cursor\\mcp.json")).toBe("cursor");
    expect(dialectOfFile("/home/me/.config/Code/User/mcp.json")).toBe("vscode");
    expect(dialectOfFile("/home/me/mcp.json")).toBeUndefined();
  });

  test("warns about a literal secret, which is an error in the reference format", () => {
    const text = JSON.stringify({ mcpServers: { s: { command: "node", env: { API_TOKEN: "abcdefgh-12345678" } } } });
    const severityIn = (file: string): string[] =>
      parseConfiguration(text, { file }).findings.map(({ code, severity }) => `${severity} ${code}`);
    expect(severityIn("claude_desktop_config.json")).toEqual(["warning literal-secret"]);
    expect(severityIn(".mcp.json")).toEqual(["error literal-secret"]);
  });

  test("suggests variables as the program writes them", () => {
    const adviceFor = (authorization: string): (string | undefined)[] => {
      const entry = { type: "remote", url: "https://a.example", headers: { Authorization: authorization } };
      const text = JSON.stringify({ mcp: { notes: entry } });
      return parseConfiguration(text, { file: "opencode.json" }).findings.map(({ fix }) => fix);
    };
    expect(adviceFor("Bearer abcdefgh-12345678")).toEqual([
      expect.stringMatching(/^Write \{env:NOTES_TOKEN\} instead/),
    ]);
    expect(adviceFor("{env:NOTES_TOKEN}")).toEqual([expect.stringMatching(/^Write "Bearer \{env:NOTES_TOKEN\}"/)]);
    expect(adviceFor("Bearer {env:NOTES_TOKEN}")).toEqual([]);
  });
});

describe("the fields of a program", () => {
  test("[TS-D-DIALECT-2] translates the fields of other programs to ours", () => {
    expect(oneEntry({ serverUrl: "https://a.example" })).toMatchObject({ type: "http", fallsBackToSse: true });
    expect(oneEntry({ httpUrl: "https://a.example" })).toMatchObject({ type: "http", fallsBackToSse: false });
    expect(oneEntry({ url: "https://a.example", enabled: false }).isDisabled).toBe(true);
    expect(oneEntry({ url: "https://a.example", disabledTools: ["a"], excludeTools: ["b"] }).tools).toEqual({
      include: undefined,
      exclude: ["b", "a"],
    });
    expect(oneEntry({ command: "x", title: "A", description: "B" }).description).toBe("A: B");
    const { oauth } = oneEntry({ url: "https://a.example", auth: { CLIENT_ID: "a", CLIENT_SECRET: "${env:B}" } });
    expect(oauth).toMatchObject({
      clientId: { field: "oauth.clientId", path: ["mcpServers", "s", "auth", "CLIENT_ID"] },
      clientSecret: { field: "oauth.clientSecret", path: ["mcpServers", "s", "auth", "CLIENT_SECRET"] },
    });
    const uri = "http://localhost:3118/callback";
    expect(oneEntry({ url: "https://a.example", oauth: { redirectUri: uri } }).oauth).toMatchObject({
      callbackHost: { template: { text: "localhost" } },
      callbackPort: 3118,
    });
  });

  test("[TS-D-DIALECT-2] translates what GitHub Copilot writes in another way", () => {
    for (const file of [undefined, "/home/me/.copilot/mcp-config.json"]) {
      const copilot = parseConfiguration(dialectFixture("copilot.json"), { file });
      expect(entryOf(copilot, "playwright")).toMatchObject({ type: "stdio", tools: { include: undefined } });
      expect(entryOf(copilot, "context7").tools?.include).toEqual(["add", "resolve-library-id"]);
      expect(entryOf(copilot, "tracker")).toMatchObject({
        oauth: {
          clientId: { template: { text: "copilot" } },
          scopes: [{ template: { text: "tools:read" } }],
          callbackPort: 19_876,
        },
      });
      expect(copilot.findings.filter(({ severity }) => severity !== "note")).toEqual([]);
      const { env } = entryOf(copilot, "playwright");
      expect(env.flatMap(({ template }) => variablesOf(template)).map(({ name }) => name)).toEqual([
        "COPILOT_KEY",
        "COPILOT_MODE",
      ]);
    }
    const headers = { "X-Mode": "a" };
    expect(oneEntry({ url: "https://a.example", requestInit: { headers } }).headers).toMatchObject([
      { name: "X-Mode", template: { text: "a" } },
    ]);
  });

  test("[TS-D-DIALECT-2] translates what opencode writes in another way", () => {
    const first = parseConfiguration(dialectFixture("opencode.jsonc"), { file: "opencode.jsonc" });
    expect(entryOf(first, "my-local-mcp-server")).toMatchObject({
      type: "stdio",
      command: { template: { text: "node" } },
      args: [
        { field: "args[0]", path: ["mcp", "my-local-mcp-server", "command", 1] },
        { field: "args[1]" },
        { template: { parts: [{ kind: "variable", name: "API_KEY" }] } },
      ],
      env: [{ name: "MY_ENV_VAR" }, { name: "API_KEY" }],
    });
    expect(entryOf(first, "slow")).toMatchObject({
      callTimeoutMs: 15_000,
      cwd: { template: { text: "mcp-servers/python" } },
    });
    expect(entryOf(first, "context7")).toMatchObject({ type: "http", fallsBackToSse: true });
    expect(entryOf(first, "my-oauth-server").oauth).toMatchObject({
      clientSecret: { template: { parts: [{ kind: "variable", name: "MCP_CLIENT_SECRET" }] } },
      scopes: [{ template: { text: "tools:read" } }, { template: { text: "tools:execute" } }],
    });
    expect(entryOf(first, "my-api-key-server").oauth).toBeUndefined();
    expect(entryOf(first, "switched-off").isDisabled).toBe(true);
    const second = parseConfiguration(dialectFixture("opencode-2.jsonc"));
    expect(entryOf(second, "everything")).toMatchObject({ callTimeoutMs: 45_000, connectTimeoutMs: 20_000 });
    expect(entryOf(second, "remote").oauth).toMatchObject({ clientId: {}, callbackPort: 19_876, scopes: [{}] });
    expect(entryOf(second, "switched-off").isDisabled).toBe(true);
  });

  test("[TS-D-DIALECT-2] reports what only opencode writes in this way in the reference format", () => {
    for (const [entry, code] of [
      [{ command: ["a"] }, "field-type"],
      [{ type: "remote", url: "https://a.example" }, "type-unknown"],
      [{ url: "https://a.example", oauth: false }, "field-type"],
    ] as const) {
      const { findings } = parseConfiguration(JSON.stringify({ s: entry }), { file: ".mcp.json" });
      expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual([`error ${code}`]);
    }
  });

  test("[TS-D-DIALECT-2] reads a time in the unit of the dialect", () => {
    expect(oneEntry({ command: "x", timeout: 60_000 }).callTimeoutMs).toBe(60_000);
    expect(oneEntry({ command: "x", timeout: 60 }).callTimeoutMs).toBe(60_000);
    expect(oneEntry({ command: "x", timeout: 3_600, autoApprove: [] }).callTimeoutMs).toBe(3_600_000);
    expect(oneEntry({ command: "x", timeout: 3_600 }, "cline_mcp_settings.json").callTimeoutMs).toBe(3_600_000);
  });

  test("[TS-D-DIALECT-2] prefers a field in our spelling, with a note", () => {
    const text = JSON.stringify({ s: { url: "https://a.example", serverUrl: "https://b.example" } });
    const { entries, findings } = parseConfiguration(text);
    expect((entries[0] as NetworkEntry).url.template.text).toBe("https://a.example");
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["note field-unused"]);
  });

  test("[TS-D-DIALECT-2] adds a note for fields that have no effect", () => {
    const { findings } = parseConfiguration(dialectFixture("vscode.json"));
    expect(findings.map(({ severity, code, path }) => `${severity} ${code} ${path.at(-1)}`)).toEqual([
      "note field-unused dev",
      "note field-unused sandboxEnabled",
      "note field-unused sandbox",
    ]);
  });

  test("[TS-D-DIALECT-2] lists every field and every dialect in docs/configuration.md", () => {
    const page = readFileSync(new URL("../../../../docs/configuration.md", import.meta.url), "utf8");
    for (const [name, { dialects: names }] of Object.entries(foreignFields)) {
      const titles = names.map((each) => dialects.find((dialect) => dialect.name === each)?.title);
      expect(page).toContain(`\n| \`${name}\` | ${titles.join(", ")} | `);
    }
  });
});

describe("a variable of opencode", () => {
  /** The findings and the resolved form of an entry in a file of opencode. */
  const resolve = (entry: object, variables: Record<string, string> = {}) => {
    const file = "/srv/project/opencode.json";
    const { entries, findings } = parseConfiguration(JSON.stringify({ mcp: { s: entry } }), { file });
    const [parsed] = entries;
    if (parsed === undefined) throw new Error("No entry.");
    const context = { variables, pluginRoot: "/srv/project", secrets: createSecretRegistry() };
    const { entry: resolved, findings: more } = substituteEntry(parsed, context);
    return { resolved, messages: [...findings, ...more].map(({ code, message, fix }) => `${code}: ${message} ${fix}`) };
  };
  const remote = { type: "remote", url: "https://a.example/mcp" };

  test("[TS-D-DIALECT-8, TS-D-SUB-3] {env:NAME} is the variable NAME, and one that is not set is an error", () => {
    const entry = { ...remote, url: "https://a.example/{env:TEAM}", headers: { "X-Key": "a {env:KEY}" } };
    expect(resolve(entry, { KEY: "key", TEAM: "red" }).resolved).toMatchObject({
      url: "https://a.example/red",
      headers: { "X-Key": "a key" },
    });
    const { resolved, messages } = resolve(entry, { TEAM: "red" });
    expect(resolved).toBeUndefined();
    expect(messages).toEqual([expect.stringContaining("KEY is not set, but headers.X-Key needs it.")]);
  });

  test.each([
    ["Bearer {file:.token}", "Bearer ", "/srv/project/.token"],
    ["{file:./keys/../.token}", "", "/srv/project/.token"],
    ["Bearer {file:/run/secrets/token}", "Bearer ", "/run/secrets/token"],
    ["{file:~/.secrets/token}", "", "/home/me/.secrets/token"],
    ["{file:{env:KEYS}/token}", "", "/keys/token"],
  ])("[TS-D-DIALECT-8] %s is the output of a command that prints the file", (written, prefix, path) => {
    const expected = { command: ["cat", path], prefix };
    const variables = { HOME: "/home/me", KEYS: "/keys", ID: "id" };
    expect(resolve({ ...remote, headers: { Authorization: written } }, variables).resolved).toMatchObject({
      headers: {},
      secretCommands: [{ ...expected, target: "header", name: "Authorization" }],
    });
    expect(resolve({ type: "local", command: ["a"], environment: { A: written } }, variables).resolved).toMatchObject({
      env: {},
      secretCommands: [{ ...expected, target: "env", name: "A" }],
    });
    const oauth = { clientId: "{env:ID}", clientSecret: written };
    expect(resolve({ ...remote, oauth }, variables).resolved).toMatchObject({
      oauth: { clientId: "id" },
      secretCommands: [{ ...expected, target: "clientSecret" }],
    });
  });

  test.each([
    [{ type: "local", command: ["a", "--key={file:key}"] }, "args[0]"],
    [{ ...remote, url: "https://a.example/{file:key}" }, "url"],
    [{ ...remote, headers: { "X-Key": "{file:key}, b" } }, "headers.X-Key"],
    [{ ...remote, headers: { "X-Key": "{file:a}{file:b}" } }, "headers.X-Key"],
    [{ ...remote, oauth: { clientId: "{file:id}" } }, "oauth.clientId"],
  ])("[TS-D-DIALECT-8, TS-D-SUB-4] rejects {file:…} elsewhere instead of sending it: %j", (entry, field) => {
    const { resolved, messages } = resolve(entry);
    expect(resolved).toBeUndefined();
    expect(messages).toContainEqual(
      `variable-malformed: ${field} contains an invalid variable reference: {file:…} is possible only at the end of a header, of a variable of the process, or of clientSecret. Write {env:NAME}, and set the variable.`,
    );
  });

  test("[TS-D-DIALECT-8] rejects a name that no variable can have, and reads neither form in other formats", () => {
    const { resolved, messages } = resolve({ ...remote, headers: { "X-Key": "{env:MY-KEY}" } });
    expect(resolved).toBeUndefined();
    expect(messages).toContainEqual(
      expect.stringContaining("a name can contain only letters, digits and _. Write {env:NAME}."),
    );
    expect(oneEntry({ command: "a", args: ["{env:A}"], env: { B: "{file:b}" } })).toMatchObject({
      args: [{ template: { parts: [{ kind: "text", text: "{env:A}" }] } }],
      env: [{ template: { parts: [{ kind: "text", text: "{file:b}" }] } }],
    });
  });
});

describe("a TOML file", () => {
  test("[TS-D-DIALECT-1] reports the positions of tables and keys in TOML", () => {
    const text = dialectFixture("codex.toml").replace("https://mcp.example.com/mcp", "http://mcp.example.com/mcp");
    const { entries, findings } = parseConfiguration(text, { file: "config.toml" });
    expect(entries.map(({ name, line }) => [name, line])).toEqual([
      ["context7", 3],
      ["figma", 13],
      ["chrome_devtools", 18],
      ["switched_off", 29],
    ]);
    expect(findings.filter(({ severity }) => severity === "error")).toMatchObject([
      { server: "figma", code: "url-insecure", line: 14, column: 1 },
    ]);
    expect(entries).toMatchObject([
      { callTimeoutMs: 45_000, connectTimeoutMs: 20_000, env: [{ name: "MY_ENV_VAR" }, { isOptional: true }] },
      { headers: [{ name: "Authorization" }, { name: "X-Figma-Region" }] },
      { tools: { include: ["open", "screenshot", "add"], exclude: ["screenshot"] } },
      { isDisabled: true },
    ]);
  });

  test("[TS-D-DIALECT-1] reports invalid TOML at its position, without its content", () => {
    const { findings } = parseConfiguration('[mcp_servers.a]\ntoken = "very-secret-token\n', { file: "config.toml" });
    expect(findings).toMatchObject([{ code: "json-syntax", severity: "error", line: 2 }]);
    expect(JSON.stringify(findings)).not.toContain("very-secret");
  });
});

describe("a server.json", () => {
  test("[TS-D-DIALECT-1] creates an entry for each package and remote of a server.json, and an input for each value that a user has to choose", () => {
    const { entries, inputs } = parseConfiguration(dialectFixture("server-json.json"));
    expect(entries.map(({ name, type }) => [name, type])).toEqual([
      ["hybrid-mcp-npm", "stdio"],
      ["hybrid-mcp-streamable-http", "http"],
      ["hybrid-mcp-sse", "sse"],
    ]);
    expect(inputs.map(({ id, isSecret }) => [id, isSecret])).toEqual([
      ["X-API-Key", true],
      ["tenant", false],
    ]);
  });

  test("[TS-D-DIALECT-1] runs a package of a server.json by the program of its registry, with its version", () => {
    const packages = [
      { registryType: "npm", identifier: "@example/server", version: "1.0.2", transport: { type: "stdio" } },
      { registry_type: "pypi", identifier: "weather", version: "0.5.0", runtime_hint: "uvx" },
      { registryType: "oci", identifier: "mcp/files", version: "2", environmentVariables: [{ name: "A" }] },
      { registryType: "mcpb", identifier: "https://example.com/x.mcpb" },
    ];
    const { entries, findings } = parseConfiguration(JSON.stringify({ name: "io.example/x", packages }));
    const lines = entries.map((entry) =>
      entry.type === "stdio" ? [entry.command, ...entry.args].map(({ template }) => template.text).join(" ") : "",
    );
    expect(lines).toEqual([
      "npx -y @example/server@1.0.2",
      "uvx weather==0.5.0",
      "docker run -i --rm -e A mcp/files:2",
    ]);
    expect(findings).toMatchObject([{ severity: "warning", server: "x-mcpb" }]);
  });
});

describe("an input", () => {
  const text = dialectFixture("vscode.json");
  const [entry] = parseConfiguration(text).entries;
  if (entry === undefined) throw new Error("The fixture has no entry.");

  test("[TS-D-DIALECT-6] takes an input from the variable with its name, and treats a password as a secret", () => {
    const secrets = createSecretRegistry();
    const variables = { HOME: "/home/me", INPUT_PERPLEXITY_KEY: "entered-by-a-person" };
    const resolved = resolveEntry(entry, { variables, pluginRoot: "/srv", secrets });
    expect(resolved).toMatchObject({ env: { PERPLEXITY_API_KEY: "entered-by-a-person" } });
    expect(secrets.redact("entered-by-a-person")).not.toContain("entered");
  });

  test("[TS-D-DIALECT-6] reports an input that is not set, and names its variable", () => {
    const { entry: resolved, findings } = substituteEntry(entry, {
      variables: {},
      pluginRoot: "/srv",
      secrets: createSecretRegistry(),
    });
    expect(resolved).toBeUndefined();
    expect(findings).toMatchObject([{ code: "variable-unset", fix: expect.stringContaining("INPUT_PERPLEXITY_KEY") }]);
  });

  test("[TS-D-DIALECT-6] includes the definition of an input in what an approval covers", () => {
    expect(entry.written).toMatchObject({ $inputs: [{ id: "perplexity-key", password: true }] });
  });
});
