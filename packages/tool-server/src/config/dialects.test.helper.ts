import { readFileSync } from "node:fs";
import type { DialectName } from "./dialects.js";

/** The files of every dialect, each with the path that its program uses. They are copied from the programs' documentation. */
export const dialectFiles: readonly (readonly [dialect: DialectName, fixture: string, path: string])[] = [
  ["claude-code", "claude-code.json", ".mcp.json"],
  ["claude-desktop", "claude-desktop.json", "Claude/claude_desktop_config.json"],
  ["cursor", "cursor.json", ".cursor/mcp.json"],
  ["vscode", "vscode.json", ".vscode/mcp.json"],
  ["cline", "cline.json", "cline_mcp_settings.json"],
  ["roo", "roo.json", ".roo/mcp.json"],
  ["windsurf", "windsurf.json", "windsurf/mcp_config.json"],
  ["gemini", "gemini.json", ".gemini/settings.json"],
  ["codex", "codex.toml", ".codex/config.toml"],
  ["server-json", "server-json.json", "server.json"],
  ["zed", "zed.json", "zed/settings.json"],
  ["opencode", "opencode.jsonc", ".opencode/opencode.jsonc"],
  ["opencode", "opencode-2.jsonc", "opencode.jsonc"],
  ["copilot", "copilot.json", ".copilot/mcp-config.json"],
  ["amp", "amp.json", "amp/settings.json"],
  ["mcp-json", "mcp-json.json", "mcp.json"],
];

/** The replacements for the placeholders in the fixtures. */
export interface FixtureServers {
  readonly command: string;
  readonly server: string;
  readonly http: string;
  readonly sse: string;
}

const remote: FixtureServers = {
  command: "node",
  server: "/srv/server.mjs",
  http: "https://mcp.example.com/mcp",
  sse: "https://mcp.example.com/sse",
};

/** A fixture with its servers. */
export function dialectFixture(name: string, servers: FixtureServers = remote): string {
  const text = readFileSync(new URL(`../../fixtures/dialects/${name}`, import.meta.url), "utf8");
  return text
    .replaceAll("@COMMAND@", servers.command)
    .replaceAll("@SERVER@", servers.server)
    .replaceAll("@HTTP@", servers.http)
    .replaceAll("@SSE@", servers.sse)
    .replaceAll("@ORIGIN@", new URL(servers.http).origin);
}
