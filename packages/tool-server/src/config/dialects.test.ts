import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createSecretRegistry } from "../secrets/redactor.js";
import { foreignFields } from "./dialect-fields.js";
import { dialectOfFile, dialects } from "./dialects.js";
import { dialectFiles, dialectFixture } from "./dialects.test.helper.js";
import type { Entry, NetworkEntry, StdioEntry } from "./entry.js";
import { type Configuration, parseConfiguration } from "./parse-configuration.js";
import { resolveEntry, substituteEntry } from "./substitute-entry.js";

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
