import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { Io } from "../io.js";
import { readJsoncMember } from "../jsonc/edit-jsonc.js";

/** The environment that determines the paths of configuration files. */
export interface UserEnvironment {
  readonly env: Io["env"];
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** The directory of the project: the current one. */
  readonly directory: string;
}

/** A program and its arguments. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

export type Scope = "user" | "project";

/** An MCP client, and how to configure a server in it. */
export interface McpClient {
  readonly id: string;
  readonly title: string;
  /** The key of its file that contains the entries. */
  readonly container: string;
  /** Its file for the user and, if it has one, for the project. */
  files(environment: UserEnvironment): { readonly user: string; readonly project?: string };
  /** Folders and files: if one of them exists, the client is installed. */
  installPaths(environment: UserEnvironment): readonly string[];
  /** Its commands: if one of them is on the PATH, the client is installed. */
  readonly commands: readonly string[];
  /** The keys above the entries in a file with this text. Default: `container`. Throws a JsoncError. */
  readonly containerIn?: (text: string) => readonly string[];
  /** The fields of an entry that starts a program. Default: `command` and `args`. */
  readonly stdio?: (command: CommandLine) => Readonly<Record<string, unknown>>;
  /** The fields of an entry for a URL, in addition to `headers`; undefined if it has no known way to send headers. */
  readonly http?: (url: string) => Readonly<Record<string, unknown>>;
  /** How to make it apply the change. */
  readonly next: string;
}

const typedStdio = ({ command, args }: CommandLine): Readonly<Record<string, unknown>> => ({
  type: "stdio",
  command,
  args,
});

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
    installPaths: ({ env, home }) => [join(env.CLAUDE_CONFIG_DIR || home, ".claude.json"), join(home, ".claude")],
    commands: ["claude"],
    stdio: typedStdio,
    http: (url) => ({ type: "http", url }),
    next: "Start a new Claude Code session; /mcp shows it.",
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    container: "mcpServers",
    files: (environment) => ({ user: join(settingsFolder(environment), "Claude", "claude_desktop_config.json") }),
    installPaths: (environment) => [join(settingsFolder(environment), "Claude")],
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
    installPaths: ({ home }) => [join(home, ".cursor")],
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
    installPaths: (environment) => [join(settingsFolder(environment), "Code")],
    commands: ["code"],
    stdio: typedStdio,
    http: (url) => ({ type: "http", url }),
    next: 'Run "MCP: List Servers" in VS Code and start it there.',
  },
  {
    id: "windsurf",
    title: "Windsurf",
    container: "mcpServers",
    files: ({ home }) => ({ user: join(home, ".codeium", "windsurf", "mcp_config.json") }),
    installPaths: ({ home }) => [join(home, ".codeium", "windsurf")],
    commands: ["windsurf"],
    http: (url) => ({ serverUrl: url }),
    next: "Refresh the list of servers in Cascade.",
  },
  {
    id: "zed",
    title: "Zed",
    container: "context_servers",
    files: (environment) => ({ user: join(zedFolder(environment), "settings.json") }),
    installPaths: (environment) => [zedFolder(environment)],
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
    installPaths: ({ home }) => [join(home, ".gemini")],
    commands: ["gemini"],
    http: (url) => ({ httpUrl: url }),
    next: "Start Gemini CLI again; /mcp shows it.",
  },
  {
    id: "opencode",
    title: "opencode",
    container: "mcp",
    containerIn: opencodeContainer,
    files: (environment) => ({
      user: opencodeFile(opencodeFolder(environment)),
      project: opencodeFile(environment.directory),
    }),
    installPaths: (environment) => [opencodeFolder(environment), join(environment.home, ".opencode")],
    commands: ["opencode"],
    stdio: ({ command, args }) => ({ type: "local", command: [command, ...args] }),
    http: (url) => ({ type: "remote", url }),
    next: "Start opencode again; opencode mcp list shows it.",
  },
  {
    id: "copilot",
    title: "GitHub Copilot CLI",
    container: "mcpServers",
    files: (environment) => ({ user: join(copilotFolder(environment), "mcp-config.json") }),
    installPaths: (environment) => [copilotFolder(environment)],
    commands: ["copilot"],
    stdio: ({ command, args }) => ({ type: "local", command, args, tools: ["*"] }),
    http: (url) => ({ type: "http", url, tools: ["*"] }),
    next: "Start Copilot CLI again; /mcp show lists it.",
  },
  {
    id: "amp",
    title: "Amp",
    container: "amp.mcpServers",
    files: ({ home, directory }) => ({
      user: join(home, ".config", "amp", "settings.json"),
      project: join(directory, ".amp", "settings.json"),
    }),
    installPaths: ({ home }) => [join(home, ".config", "amp")],
    commands: ["amp"],
    http: (url) => ({ url }),
    next: "Start Amp again; amp mcp list shows it.",
  },
  {
    id: "cline",
    title: "Cline",
    container: "mcpServers",
    files: ({ env, home }) => ({
      user: env.CLINE_MCP_SETTINGS_PATH || join(home, ".cline", "data", "settings", "cline_mcp_settings.json"),
    }),
    installPaths: ({ home }) => [join(home, ".cline")],
    commands: ["cline"],
    next: "Cline applies the change by itself; see its list of MCP servers.",
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

function copilotFolder({ env, home }: UserEnvironment): string {
  return env.COPILOT_HOME || join(home, ".copilot");
}

/** opencode uses the same folder on every platform. */
function opencodeFolder(environment: UserEnvironment): string {
  return join(settingsFolder({ ...environment, platform: "linux" }), "opencode");
}

/** The file of opencode in a folder: the one that exists, else `opencode.json`. */
function opencodeFile(folder: string): string {
  const [json, jsonc] = [join(folder, "opencode.json"), join(folder, "opencode.jsonc")];
  return !existsSync(json) && existsSync(jsonc) ? jsonc : json;
}

/** Version 2 has `mcp.servers`, and also reads the form of version 1, in which a server may be called "servers". */
function opencodeContainer(text: string): readonly string[] {
  const servers = readJsoncMember(text, ["mcp", "servers"]);
  const isSecond = typeof servers === "object" && servers !== null && typeof Object(servers).type !== "string";
  return isSecond ? ["mcp", "servers"] : ["mcp"];
}
