import { isAbsolute, join } from "node:path";
import type { Io } from "../io.js";

/** What the paths of configuration files depend on. */
export interface UserEnvironment {
  readonly env: Io["env"];
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** The directory of the project, which is the current one. */
  readonly directory: string;
}

export type Scope = "user" | "project";

/** A program that uses tool servers, and how to configure one in it. */
export interface McpClient {
  readonly id: string;
  readonly title: string;
  /** The key of its file that holds the entries by name. */
  readonly container: string;
  /** Its file for the user and, if it has one, for the project. */
  files(environment: UserEnvironment): { readonly user: string; readonly project?: string };
  /** Folders and files: if one of them exists, the client is installed. */
  traces(environment: UserEnvironment): readonly string[];
  /** Its commands: if one of them is on the PATH, the client is installed. */
  readonly commands: readonly string[];
  /** Whether a stdio entry has a `type`. */
  readonly saysType?: true;
  /** The fields of an entry for a URL, in addition to `headers`; undefined if it takes no headers, or none that we know. */
  readonly http?: (url: string) => Readonly<Record<string, string>>;
  /** How to make it apply the change. */
  readonly next: string;
}

/** Every client whose file we know how to change. */
export const mcpClients: readonly McpClient[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    container: "mcpServers",
    files: (environment) => ({
      user: join(environment.env.CLAUDE_CONFIG_DIR || environment.home, ".claude.json"),
      project: join(environment.directory, ".mcp.json"),
    }),
    traces: ({ env, home }) => [join(env.CLAUDE_CONFIG_DIR || home, ".claude.json"), join(home, ".claude")],
    commands: ["claude"],
    saysType: true,
    http: (url) => ({ type: "http", url }),
    next: "Start a new Claude Code session; /mcp shows it.",
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    container: "mcpServers",
    files: (environment) => ({ user: join(settingsFolder(environment), "Claude", "claude_desktop_config.json") }),
    traces: (environment) => [join(settingsFolder(environment), "Claude")],
    commands: [],
    next: "Quit Claude Desktop and start it again.",
  },
  {
    id: "cursor",
    title: "Cursor",
    container: "mcpServers",
    files: ({ home, directory }) => ({
      user: join(home, ".cursor", "mcp.json"),
      project: join(directory, ".cursor", "mcp.json"),
    }),
    traces: ({ home }) => [join(home, ".cursor")],
    commands: ["cursor"],
    http: (url) => ({ url }),
    next: "Restart Cursor, or enable the server in its settings.",
  },
  {
    id: "vscode",
    title: "VS Code",
    container: "servers",
    files: (environment) => ({
      user: join(settingsFolder(environment), "Code", "User", "mcp.json"),
      project: join(environment.directory, ".vscode", "mcp.json"),
    }),
    traces: (environment) => [join(settingsFolder(environment), "Code")],
    commands: ["code"],
    saysType: true,
    http: (url) => ({ type: "http", url }),
    next: 'Run "MCP: List Servers" in VS Code and start it there.',
  },
  {
    id: "windsurf",
    title: "Windsurf",
    container: "mcpServers",
    files: ({ home }) => ({ user: join(home, ".codeium", "windsurf", "mcp_config.json") }),
    traces: ({ home }) => [join(home, ".codeium", "windsurf")],
    commands: ["windsurf"],
    http: (url) => ({ serverUrl: url }),
    next: "Refresh the list of servers in Cascade.",
  },
  {
    id: "zed",
    title: "Zed",
    container: "context_servers",
    files: (environment) => ({ user: join(zedFolder(environment), "settings.json") }),
    traces: (environment) => [zedFolder(environment)],
    commands: ["zed", "zeditor"],
    http: (url) => ({ url }),
    next: "Zed reloads the file by itself.",
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    container: "mcpServers",
    files: ({ home, directory }) => ({
      user: join(home, ".gemini", "settings.json"),
      project: join(directory, ".gemini", "settings.json"),
    }),
    traces: ({ home }) => [join(home, ".gemini")],
    commands: ["gemini"],
    http: (url) => ({ httpUrl: url }),
    next: "Start Gemini CLI again; /mcp shows it.",
  },
  {
    id: "cline",
    title: "Cline",
    container: "mcpServers",
    files: ({ env, home }) => ({
      user: env.CLINE_MCP_SETTINGS_PATH || join(home, ".cline", "data", "settings", "cline_mcp_settings.json"),
    }),
    traces: ({ home }) => [join(home, ".cline")],
    commands: ["cline"],
    next: "Look at the MCP servers of Cline; it takes the change up by itself.",
  },
];

/** The folder for the settings of the user on this platform. */
export function settingsFolder({ env, platform, home }: UserEnvironment): string {
  if (platform === "win32") return env.APPDATA || join(home, "AppData", "Roaming");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  const configured = env.XDG_CONFIG_HOME ?? "";
  return isAbsolute(configured) ? configured : join(home, ".config");
}

function zedFolder(environment: UserEnvironment): string {
  if (environment.platform === "win32") return join(settingsFolder(environment), "Zed");
  return environment.platform === "darwin"
    ? join(environment.home, ".config", "zed")
    : join(settingsFolder(environment), "zed");
}
