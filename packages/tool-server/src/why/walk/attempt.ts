import { type Credential, isRefusal } from "../../auth/credentials/credential.js";
import { collectRefusalEvidence } from "../../auth/credentials/refusal-evidence.js";
import type { RefusalEvidence } from "../../causes/refusal-evidence.js";
import type { ResolvedEntry } from "../../config/substitute-entry.js";
import type { ServerDescription } from "../../connection/client-settings.js";
import type { Connection } from "../../connection/connection.js";
import { createConnection } from "../../connection/create-connection.js";
import { describeListProblems } from "../../connection/listed-items.js";
import { targetOf, tenantOf } from "../../connection/servers/entry-info.js";
import { createEntryTransport } from "../../connection/servers/entry-transport.js";
import { defaultLimits, type ToolTransport } from "../../connection/transports/transport.js";
import type { ConnectionInfo, TransportInfo } from "../../connection-info.js";
import type { ToolServerError, ToolServerErrorCode } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import { type AttemptEvidence, failureEvidence, isEvidence, type ServerEvidence } from "../evidence.js";
import { collectResponseEvidence, type RecordedExchange, type RecordingClient } from "./recording-client.js";
import type { Walk } from "./walk.js";

/** The dependencies of a connection attempt. */
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
    name: redact(entry.name, "own"),
    target: targetOf(resolved, redact),
    tenant: tenantOf(entry, variables),
  };
}

/**
 * Connects as any client does, and lists the tools, or pings if the server has none. Sends no request that changes anything.
 * `beforeClose` is called while the connection is still open.
 */
export async function attempt(
  walk: Walk,
  options: AttemptOptions,
  beforeClose: () => Promise<void> = async () => {},
): Promise<Attempted> {
  const { clock, secrets, report, responseMs, signal, variables, sandbox = {}, settings, redact } = walk;
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
      const transportOptions = { resolved, connection: info, credential, http, variables, sandbox, context };
      const opened = createEntryTransport(transportOptions);
      options.onTransport?.(opened.transport, opened.info);
      return opened;
    },
  });
  let connected: ServerEvidence | undefined;
  try {
    connected = serverEvidence(walk, await connection.connect({ signal }));
    const tools = await countTools(connection, signal);
    const problems = connection.listProblems("tools/list");
    const omitted = problems.length === 0 ? undefined : walk.sanitize(describeListProblems(problems), 2000);
    await beforeClose();
    return { connected: { ...connected, tools, omitted } };
  } catch (error) {
    if (!isEvidence(error)) throw error;
    await beforeClose();
    return { connected, failure: error };
  } finally {
    await connection.close();
  }
}

function serverEvidence({ sanitize }: Walk, server: ServerDescription): ServerEvidence {
  const { name, version, protocolVersion, era } = server;
  return {
    name: name === undefined ? undefined : sanitize(name, 100),
    version: version === undefined ? undefined : sanitize(version, 50),
    protocolVersion: sanitize(protocolVersion, 50),
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

interface NetworkAttemptOptions extends AttemptOptions<RecordingClient> {
  readonly resolved: Exclude<ResolvedEntry, { readonly type: "stdio" }>;
}

/** Connects over the network, and collects the last response and the last refusal. */
export async function attemptOverNetwork(walk: Walk, options: NetworkAttemptOptions): Promise<AttemptEvidence> {
  const { credential, http } = options;
  let exchanges: readonly RecordedExchange[] = [];
  const { connected, failure } = await attempt(walk, options, async () => {
    await http.settle();
    exchanges = http.exchanges.filter(({ isOwn }) => isOwn);
  });
  const base = { credential: credential.kind, connected };
  if (failure === undefined) return base;
  const last = exchanges.at(-1);
  const refusal = await refusalEvidence(walk, options, failure, last);
  // The stream of a session may respond 405 after a refused request.
  const shown = refusal === undefined ? last : exchanges.findLast(({ status }) => isRefusal(status));
  return {
    ...base,
    failure: failureEvidence(failure, walk.redact),
    response: shown === undefined ? undefined : collectResponseEvidence(walk, shown),
    refusal,
  };
}

/** The statuses that correspond to how a server closes a WebSocket. */
const closedStatus: Partial<Record<ToolServerErrorCode, number>> = { UNAUTHORIZED: 401, FORBIDDEN: 403 };

/**
 * The evidence of the error if a request was refused. Otherwise that of a WebSocket that the server closed because of its
 * credential, or that of the last response: replacing a refused credential may fail too.
 */
async function refusalEvidence(
  { clock, redact, signal }: Walk,
  { resolved, credential }: NetworkAttemptOptions,
  { code, details }: ToolServerError,
  last: RecordedExchange | undefined,
): Promise<RefusalEvidence | undefined> {
  if (details.refusal !== undefined) return details.refusal;
  const collect = (refusal: Parameters<typeof collectRefusalEvidence>[0]["refusal"]): RefusalEvidence => {
    const url = new URL(resolved.url);
    return collectRefusalEvidence({ refusal, credential: credential.describe(), url, now: clock.now(), redact });
  };
  const status = closedStatus[code];
  if (status !== undefined) return collect({ status, sent: await credential.headers({ signal }) });
  if (last === undefined || !isRefusal(last.status)) return undefined;
  const { sent, headers } = last;
  return collect({ status: last.status, sent, challenge: headers["www-authenticate"], date: headers.date });
}
