import { type Credential, isRefusal } from "../../auth/credentials/credential.js";
import { collectRefusalEvidence } from "../../auth/credentials/refusal-evidence.js";
import type { RefusalEvidence } from "../../causes/refusal-evidence.js";
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
import { type AttemptEvidence, failureEvidence, isEvidence, type ServerEvidence } from "../evidence.js";
import { collectResponseEvidence, type RecordedExchange, type RecordingClient } from "./recording-client.js";
import type { Walk } from "./walk.js";

/** What a walk connects with. */
export interface AttemptOptions<Http extends HttpClient | undefined = HttpClient | undefined> {
  readonly resolved: ResolvedEntry;
  readonly credential: Credential;
  /** Undefined for a stdio server. */
  readonly http: Http;
  readonly info: ConnectionInfo;
  /** Called for each transport that is opened: sockets belong to it from then on. */
  readonly onTransport?: ((transport: ToolTransport, info: TransportInfo) => void) | undefined;
}

/** The result: a failure, or the server's description; both if it failed after the handshake. */
export interface Attempted {
  readonly connected?: ServerEvidence | undefined;
  readonly failure?: ToolServerError | undefined;
}

/** The description of the connection for observers, without its credential. */
export function describeConnection(walk: Walk, resolved: ResolvedEntry): Omit<ConnectionInfo, "credential"> {
  const { entry, variables, redact } = walk;
  return {
    kind: resolved.type,
    name: redact(entry.name),
    target: targetOf(resolved, redact),
    tenant: tenantOf(entry, variables),
  };
}

/**
 * Connects as any client does, and lists the tools, or pings if the server has none. Nothing that changes anything is requested.
 * `beforeClose` is called while the connection is still open.
 */
export async function attempt(
  walk: Walk,
  options: AttemptOptions,
  beforeClose: () => Promise<void> = async () => {},
): Promise<Attempted> {
  const { clock, secrets, report, responseMs, signal, variables, pluginRoot, sandbox = {}, settings, redact } = walk;
  const { resolved, credential, http, info } = options;
  const connection = createConnection({
    info,
    report,
    redact,
    clock,
    settings,
    connectTimeoutMs: responseMs,
    idleTimeoutMs: responseMs,
    beforeOpen: () => walk.ensureTrusted(),
    openTransport() {
      const limits = { ...defaultLimits, connectMs: Math.min(defaultLimits.connectMs, responseMs) };
      const context = { secrets, report, clock, limits };
      const opened = createEntryTransport({
        resolved,
        connection: info,
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
  let connected: ServerEvidence | undefined;
  try {
    connected = serverEvidence(walk, await connection.connect({ signal }));
    const tools = await countTools(connection, signal);
    await beforeClose();
    return { connected: { ...connected, tools } };
  } catch (error) {
    if (!isEvidence(error)) throw error;
    await beforeClose();
    return { connected, failure: error };
  } finally {
    await connection.close();
  }
}

function serverEvidence({ say }: Walk, server: ServerDescription): ServerEvidence {
  const { name, version, protocolVersion, era } = server;
  return {
    name: name === undefined ? undefined : say(name, 100),
    version: version === undefined ? undefined : say(version, 50),
    protocolVersion: say(protocolVersion, 50),
    era,
    tools: undefined,
  };
}

/** The number of tools on the first page; undefined if the server has no tools, and responded to a ping. */
async function countTools(connection: Connection, signal: AbortSignal): Promise<number | undefined> {
  if (connection.server?.capabilities.tools === undefined) {
    await connection.ping({ signal });
    return undefined;
  }
  return (await connection.listTools({ signal })).tools.length;
}

/** Connects over the network, and collects the last response and the last refusal. */
export async function attemptOverNetwork(
  walk: Walk,
  options: AttemptOptions<RecordingClient> & {
    readonly resolved: Exclude<ResolvedEntry, { readonly type: "stdio" }>;
  },
): Promise<AttemptEvidence> {
  const { resolved, credential, http } = options;
  let exchanges: readonly RecordedExchange[] = [];
  const { connected, failure } = await attempt(walk, options, async () => {
    await http.settle();
    exchanges = http.exchanges.filter(({ isOwn }) => isOwn);
  });
  const base = { credential: credential.kind, connected };
  if (failure === undefined) return base;
  const last = exchanges.at(-1);
  const refused = exchanges.findLast(({ status }) => isRefusal(status));
  const isRefused = refusalCodes.has(failure.code) || (refused !== undefined && refused === last);
  // The stream of a session may be refused in another way meanwhile.
  const shown = isRefused ? (refused ?? last) : last;
  return {
    ...base,
    failure: failureEvidence(failure, walk.redact),
    response: shown === undefined ? undefined : collectResponseEvidence(walk, shown),
    refusal: isRefused ? refusalEvidence(walk, new URL(resolved.url), credential, failure, refused) : undefined,
  };
}

const refusalCodes: ReadonlySet<string> = new Set(["UNAUTHORIZED", "FORBIDDEN", "SIGN_IN_NEEDED"]);

/** The evidence of the recorded refusal, otherwise that of the error, as over a WebSocket. */
function refusalEvidence(
  { clock, redact }: Walk,
  url: URL,
  credential: Credential,
  { details }: ToolServerError,
  refused: RecordedExchange | undefined,
): RefusalEvidence | undefined {
  const collect = (refusal: Parameters<typeof collectRefusalEvidence>[0]["refusal"]): RefusalEvidence =>
    collectRefusalEvidence({ refusal, credential: credential.describe(), url, now: clock.now(), redact });
  if (refused !== undefined) {
    const { status, sent, headers } = refused;
    return collect({ status, sent, challenge: headers["www-authenticate"], date: headers.date });
  }
  if (details.refusal !== undefined) return details.refusal;
  const status = details.status ?? 401;
  return isRefusal(status) ? collect({ status, sent: {} }) : undefined;
}
