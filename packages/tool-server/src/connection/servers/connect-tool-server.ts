import { basename } from "node:path";
import { createConfiguration, type ToolServerLocation } from "../../config/create-configuration.js";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import { parseUrl } from "../../url.js";
import type { ClientSettings } from "../client-settings.js";
import type { Connection } from "../connection.js";
import type { ToolServerSettings } from "./open-tool-server.js";
import { openEntry } from "./tool-servers.js";

/** Options for connecting to one tool server. */
export interface ConnectToolServerOptions extends Omit<ToolServerSettings, "settings" | "isEager"> {
  /** The name of the server in messages and in Channelz. Default: its host, or its program. */
  readonly name?: string | undefined;
  /** The client info and capabilities that the server sees. Default: `wirescope`, without capabilities. */
  readonly client?: ClientSettings | undefined;
  /** The working directory of a child process. Default: that of this process. */
  readonly cwd?: string | undefined;
  /** Cancels connecting. */
  readonly signal?: AbortSignal | undefined;
  /** Where credentials are registered, so that no message contains them. Default: a new registry. */
  readonly secrets?: SecretRegistry | undefined;
}

/**
 * Connects to one tool server by url or by command, and resolves once it has responded. Close the connection when it is no longer
 * needed, or declare it with `await using`.
 *
 * A url without a `type` is tried over Streamable HTTP first, and over HTTP with SSE if the server does not support that. A connection
 * that is lost is opened again at the next call. No approval is needed, because the program itself names the server; the servers of a
 * configuration file are opened with `openToolServers`, which requires approvals.
 *
 * Rejects with a ToolServerError: ENTRY_INVALID for a url or header that must not be used, SERVER_UNREACHABLE, UNAUTHORIZED,
 * CHILD_NOT_RUNNABLE, CALL_CANCELLED, and others. Nothing is left open then. Rejects with a TypeError for neither a url nor a command.
 */
export async function connectToolServer(
  server: ToolServerLocation,
  options: ConnectToolServerOptions = {},
): Promise<Connection> {
  if (typeof server !== "object" || server === null || !("url" in server || "command" in server)) {
    throw new TypeError('Pass { url: "https://…" } or { command: "…", args: [] } as the server.');
  }
  const { name = nameOf(server), secrets = createSecretRegistry(), cwd = process.cwd(), signal } = options;
  const configuration = createConfiguration({ [name]: server }, { secrets });
  const [entry] = configuration.entries;
  if (entry === undefined) throw new TypeError("A server has a url or a command.");
  const { connection } = await openEntry(
    {
      ...options,
      configuration,
      variables: process.env,
      pluginRoot: cwd,
      secrets,
      assertTrusted: async () => {},
      settings: options.client ?? {},
    },
    entry,
  );
  try {
    await connection.connect({ signal });
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function nameOf(server: ToolServerLocation): string {
  if ("command" in server) return basename(server.command) || server.command;
  const url = String(server.url);
  return parseUrl(url)?.host || url;
}
