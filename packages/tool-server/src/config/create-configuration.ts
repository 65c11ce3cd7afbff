import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import { checkSecrets } from "./check-secrets.js";
import { checkHeaders, checkUrl } from "./check-url-and-headers.js";
import type { Entry, NamedField, NetworkType, TemplateField } from "./entry.js";
import { collectFindings, redactFinding, type SourcePosition } from "./finding.js";
import type { Configuration } from "./parse-configuration.js";

/** A tool server on the network, as specified in code. */
export interface RemoteToolServer {
  /** `https://…`, or `wss://…` for a WebSocket server. `http://` and `ws://` are accepted for a loopback host only. */
  readonly url: string | URL;
  /** Headers of every request, such as `Authorization`. The values are sent as they are. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The transport: Streamable HTTP, HTTP with SSE, or WebSocket. Default: by the scheme of the url, `http` or `ws`. */
  readonly type?: NetworkType | undefined;
}

/** A tool server that runs as a child process, as specified in code. */
export interface LocalToolServer {
  /** The program, as a path or a name on the PATH. No shell is involved. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables of the process, in addition to the few that every child inherits (PATH, HOME and the like). */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A tool server, as specified in code. */
export type ToolServerLocation = RemoteToolServer | LocalToolServer;

/** Options for creating a configuration. */
export interface CreateConfigurationOptions {
  /** Registers the servers' credentials, so that no message contains them. Default: a new registry. */
  readonly secrets?: SecretRegistry | undefined;
}

/**
 * Creates a configuration from servers by name, without a file. Values are used as they are: `${NAME}` is not replaced. Never throws:
 * a server whose url or headers cannot be used has an error among the findings, and opening it fails with ENTRY_INVALID.
 */
export function createConfiguration(
  servers: Readonly<Record<string, ToolServerLocation>>,
  { secrets = createSecretRegistry() }: CreateConfigurationOptions = {},
): Configuration {
  const { findings, report } = collectFindings();
  const entries = Object.entries(servers).map(([name, server]) => createEntry(name, server));
  for (const entry of entries) {
    // Secrets are allowed here: code may obtain them from anywhere.
    for (const secret of checkSecrets(entry, () => {})) secrets.add(secret);
    if (entry.type === "stdio") continue;
    checkUrl(entry, report);
    checkHeaders(entry.headers, entry.dialect, report);
  }
  return {
    dialect: "claude-code",
    entries,
    inputs: [],
    findings: findings.map((finding) => redactFinding(finding, secrets)),
  };
}

function createEntry(name: string, server: ToolServerLocation): Entry {
  const position: SourcePosition = { line: 0, column: 0, path: [name], server: name };
  const field = (path: string, text: string): TemplateField => {
    const parts = text === "" ? [] : [{ kind: "text" as const, text }];
    return { ...position, field: path, template: { text, parts, malformed: [], isLiteral: true } };
  };
  const fields = (path: string, values: Readonly<Record<string, string>> = {}): NamedField[] =>
    Object.entries(values).map(([key, value]) => ({ ...field(`${path}.${key}`, value), name: key }));
  const common = {
    dialect: "claude-code",
    description: undefined,
    isDisabled: false,
    tools: { include: undefined, exclude: [] },
    secretCommands: [],
    callTimeoutMs: undefined,
    connectTimeoutMs: undefined,
  } as const;
  if ("command" in server) {
    const { command, args = [], env } = server;
    return {
      ...position,
      type: "stdio",
      name,
      command: field("command", command),
      args: args.map((arg, index) => field(`args[${index}]`, arg)),
      env: fields("env", env),
      cwd: undefined,
      envFile: undefined,
      sandbox: true,
      ...common,
      written: server,
    };
  }
  const url = String(server.url);
  return {
    ...position,
    type: server.type ?? (/^wss?:/i.test(url) ? "ws" : "http"),
    name,
    url: field("url", url),
    headers: fields("headers", server.headers),
    headersHelper: undefined,
    helperTimeoutMs: undefined,
    helperTtlMs: undefined,
    sandbox: true,
    tenants: [],
    oauth: undefined,
    fallsBackToSse: server.type === undefined && !/^wss?:/i.test(url),
    ...common,
    written: { ...server, url },
  };
}
