import type { Credential } from "../../auth/credentials/credential.js";
import type { ResolvedEntry } from "../../config/substitute-entry.js";
import type { ServerDescription } from "../../connection/client-session.js";
import type { Connection } from "../../connection/connection.js";
import { createConnection } from "../../connection/create-connection.js";
import { targetOf, tenantOf } from "../../connection/servers/entry-info.js";
import { createEntryTransport } from "../../connection/servers/entry-transport.js";
import { defaultLimits, type ToolTransport } from "../../connection/transports/transport.js";
import type { ConnectionInfo, TransportInfo } from "../../connection-info.js";
import type { ToolServerError } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import type { ConnectedFacts } from "../facts.js";
import { isFinding } from "../failure-facts.js";
import type { Walk } from "./walk.js";

/** What a walk connects with. */
export interface AttemptOptions {
  readonly resolved: ResolvedEntry;
  readonly credential: Credential;
  /** Undefined for a stdio server. */
  readonly http: HttpClient | undefined;
  readonly facts: ConnectionInfo;
  /** Told of each transport that is opened: sockets belong to it from then on. */
  readonly onTransport?: ((transport: ToolTransport, facts: TransportInfo) => void) | undefined;
}

/** What came of it: a failure, or nothing but what the server said; both where it failed after the handshake. */
export interface Attempted {
  readonly connected?: ConnectedFacts | undefined;
  readonly failure?: ToolServerError | undefined;
}

/** What those see who watch, but for how it signs in. */
export function connectionFactsOf(walk: Walk, resolved: ResolvedEntry): Omit<ConnectionInfo, "credential"> {
  const { entry, variables, redact } = walk;
  return {
    kind: resolved.type,
    name: redact(entry.name),
    target: targetOf(resolved, redact),
    tenant: tenantOf(entry, variables),
  };
}

/**
 * Connects as any user of the server does, and asks for the list of its tools, or for a sign of life where it has none. Nothing
 * that changes anything is asked for. `look` is called before the connection is closed.
 */
export async function attempt(
  walk: Walk,
  options: AttemptOptions,
  look: () => Promise<void> = async () => {},
): Promise<Attempted> {
  const { clock, secrets, report, answerMs, signal, variables, pluginRoot, sandbox = {}, settings, redact } = walk;
  const { resolved, credential, http, facts } = options;
  const connection = createConnection({
    info: facts,
    report,
    redact,
    clock,
    settings,
    connectTimeoutMs: answerMs,
    idleTimeoutMs: answerMs,
    beforeOpen: () => walk.ensureTrusted(),
    openTransport() {
      const limits = { ...defaultLimits, connectMs: Math.min(defaultLimits.connectMs, answerMs) };
      const context = { secrets, report, clock, limits };
      const opened = createEntryTransport({
        resolved,
        connection: facts,
        credential,
        http,
        variables,
        pluginRoot,
        sandbox,
        context,
      });
      options.onTransport?.(opened.transport, opened.info);
      return opened;
    },
  });
  let connected: ConnectedFacts | undefined;
  try {
    connected = connectedFactsOf(walk, await connection.connect({ signal }));
    const tools = await read(connection, signal);
    await look();
    return { connected: { ...connected, tools } };
  } catch (error) {
    if (!isFinding(error)) throw error;
    await look();
    return { connected, failure: error };
  } finally {
    await connection.close();
  }
}

function connectedFactsOf({ say }: Walk, server: ServerDescription): ConnectedFacts {
  const { name, version, protocolVersion, era } = server;
  return {
    name: name === undefined ? undefined : say(name, 100),
    version: version === undefined ? undefined : say(version, 50),
    protocolVersion: say(protocolVersion, 50),
    era,
    tools: undefined,
  };
}

/** How many tools the server lists first; undefined where it has none, and gave a sign of life in place of them. */
async function read(connection: Connection, signal: AbortSignal): Promise<number | undefined> {
  if (connection.server?.capabilities.tools === undefined) {
    await connection.ping({ signal });
    return undefined;
  }
  return (await connection.listTools({ signal })).tools.length;
}
