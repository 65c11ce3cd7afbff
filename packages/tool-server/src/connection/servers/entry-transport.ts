import type { Credential } from "../../auth/credentials/credential.js";
import type { NetworkType } from "../../config/entry.js";
import type { ResolvedEntry, Variables } from "../../config/substitute-entry.js";
import type { ConnectionInfo, TransportInfo } from "../../connection-info.js";
import type { HttpClient } from "../../http/http-client.js";
import { createSseTransport } from "../transports/sse-transport.js";
import { createStdioTransport } from "../transports/stdio-transport.js";
import { createStreamableHttpTransport } from "../transports/streamable-http-transport.js";
import type { NetworkContext, ToolTransport, TransportContext } from "../transports/transport.js";
import { createWebSocketTransport } from "../transports/websocket-transport.js";
import { prepareEntrySandbox, type SandboxSettings } from "./entry-sandbox.js";

/** The dependencies of the transports to one server. */
interface EntryTransportOptions {
  readonly resolved: ResolvedEntry;
  readonly connection: ConnectionInfo;
  readonly credential: Credential;
  /** Undefined for a stdio server. */
  readonly http: HttpClient | undefined;
  /** The user's environment, of which a child process gets a part. */
  readonly variables: Variables;
  /** False: a started program sees everything that this process sees. */
  readonly sandbox: SandboxSettings | false;
  readonly context: Pick<TransportContext, "secrets" | "report" | "clock" | "limits">;
}

/** Creates a transport of the entry's type, not yet started. */
export function createEntryTransport(options: EntryTransportOptions): {
  readonly transport: ToolTransport;
  readonly info: TransportInfo;
} {
  const { resolved, connection, credential, http, variables, sandbox } = options;
  const server = resolved.name;
  if (resolved.type === "stdio") {
    const info: TransportInfo = { connection, target: connection.target };
    const { command, args, cwd } = resolved;
    const context = { ...options.context, server, info, credential, command, args, cwd };
    const onUnsandboxed = (reason: string): void =>
      context.report(info, "warning", `It runs without a sandbox. ${reason}`);
    const parts = { server, program: "server", isEnabled: resolved.sandbox, cwd, onUnsandboxed } as const;
    const prepareSandbox = sandbox ? () => prepareEntrySandbox({ ...parts, settings: sandbox }) : undefined;
    return { info, transport: createStdioTransport({ ...context, environment: variables, prepareSandbox }) };
  }
  if (http === undefined) throw new TypeError("A server on the network needs an HTTP client.");
  const url = new URL(resolved.url);
  const info: TransportInfo = { connection, target: url.origin };
  const context = { ...options.context, server, info, credential, url, http };
  return { info, transport: networkTransports[resolved.type](context) };
}

export const networkTransports: Readonly<Record<NetworkType, (context: NetworkContext) => ToolTransport>> = {
  http: createStreamableHttpTransport,
  sse: createSseTransport,
  ws: createWebSocketTransport,
};
