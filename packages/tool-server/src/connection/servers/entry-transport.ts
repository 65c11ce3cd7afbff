import type { Credential } from "../../auth/credentials/credential.js";
import type { ResolvedEntry, Variables } from "../../config/substitute-entry.js";
import type { ConnectionFacts, TransportFacts } from "../../diagnostics/facts.js";
import type { HttpClient } from "../../http/http-client.js";
import { networkTransports } from "../transports/network-transports.js";
import { createStdioTransport } from "../transports/stdio-transport.js";
import type { ToolTransport, TransportContext } from "../transports/transport.js";
import { prepareEntrySandbox, type SandboxSettings } from "./entry-sandbox.js";

/** What transports to one server are made of. */
export interface EntryTransportOptions {
  readonly resolved: ResolvedEntry;
  readonly connection: ConnectionFacts;
  readonly credential: Credential;
  /** Undefined for a stdio server. */
  readonly http: HttpClient | undefined;
  /** The user's environment, of which a child gets a part. */
  readonly variables: Variables;
  readonly pluginRoot: string;
  /** False: what is started sees all that this process sees. */
  readonly sandbox: SandboxSettings | false;
  readonly context: Pick<TransportContext, "secrets" | "tell" | "clock" | "limits">;
}

/** A new transport of the kind that the entry asks for, not yet started. */
export function createEntryTransport(options: EntryTransportOptions): {
  readonly transport: ToolTransport;
  readonly facts: TransportFacts;
} {
  const { resolved, connection, credential, http, variables, pluginRoot, sandbox } = options;
  const server = resolved.name;
  if (resolved.type === "stdio") {
    const facts: TransportFacts = { connection, target: connection.target };
    const { command, args } = resolved;
    const context = { ...options.context, server, facts, credential, command, args, cwd: pluginRoot };
    const onAbsent = (reason: string): void => context.tell(facts, "warning", `It runs without a sandbox. ${reason}`);
    const prepareSandbox = sandbox
      ? () =>
          prepareEntrySandbox({
            settings: sandbox,
            server,
            program: "server",
            isWanted: resolved.sandbox,
            cwd: pluginRoot,
            onAbsent,
          })
      : undefined;
    return { facts, transport: createStdioTransport({ ...context, environment: variables, prepareSandbox }) };
  }
  if (http === undefined) throw new TypeError("A server on the network needs an HTTP client.");
  const url = new URL(resolved.url);
  const facts: TransportFacts = {
    connection,
    target: url.origin === "null" ? `${url.protocol}//${url.host}` : url.origin,
  };
  const context = { ...options.context, server, facts, credential, url, http };
  return { facts, transport: networkTransports[resolved.type](context) };
}
