import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { foreignFields } from "./dialect-fields.js";
import { dialectOfFile, dialects } from "./dialects.js";
import { dialectFiles, dialectFixture } from "./dialects.test.helper.js";
import type { Entry, NetworkEntry, StdioEntry } from "./entry.js";
import { type Configuration, parseConfiguration } from "./parse-configuration.js";

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
  test("[TS-D-DIALECT-2] gives the fields of other programs our meaning", () => {
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
