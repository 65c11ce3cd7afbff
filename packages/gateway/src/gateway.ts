import { randomBytes } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { type ChannelzListener, listenChannelz } from "@wirescope/channelz/listener";
import { createRegistry, type Registry } from "@wirescope/channelz/registry";
import { observeListener } from "@wirescope/instrument/internal";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import { ToolServerError } from "@wirescope/tool-server";
import type { OAuthSession, SignInRequest } from "@wirescope/tool-server/auth";
import { RpcError, rpcCodes, systemClock } from "@wirescope/tool-server/internal";
import type { Admin } from "./admin/admin.js";
import { adminHeader } from "./admin/client/admin-header.js";
import { joinObservers } from "./call-observer.js";
import { createAccounts } from "./callers/accounts.js";
import { createParkedCalls } from "./callers/parked-calls.js";
import { createSessions, type Sessions } from "./callers/sessions.js";
import { createStatelessRequests } from "./callers/stateless-requests.js";
import { createClientSubscriptions } from "./callers/subscriptions.js";
import { createDispatch } from "./dispatch/dispatch.js";
import { createHub, type Hub } from "./dispatch/hub.js";
import type { EndpointParts } from "./endpoint/endpoint-parts.js";
import { createEventStreams } from "./endpoint/event-streams.js";
import { type StdioClient, serveStdio } from "./endpoint/serve-stdio.js";
import { createEventLog } from "./event-log.js";
import { createTeller, type GatewayEvent, type Teller } from "./events.js";
import type { GatewayListenOptions, GatewayOptions } from "./gateway-options.js";
import { completeLimits } from "./limits.js";
import { createRequesters } from "./listener/principal.js";
import { createRoutes, publicPaths } from "./listener/routes.js";
import { createMetrics } from "./metrics.js";
import { createNotices } from "./notices.js";
import { createGauges } from "./observe/gauges.js";
import { reachable } from "./reachable.js";
import type { PluginServers } from "./servers/plugin-servers.js";
import type { ServerStatus } from "./servers/upstream.js";
import { createUpstreams, type Filters } from "./servers/upstreams.js";
import { createCallSignIns } from "./sign-in/call-sign-ins.js";
import { createSignIns } from "./sign-in/sign-ins.js";
import { openTelemetry } from "./telemetry/open-telemetry.js";
import { createTraceFieldReader } from "./trace-fields.js";

/** How a gateway stops. */
export interface GatewayCloseOptions {
  /** Milliseconds for calls in flight to end by themselves; then they are called off. Default 5000. */
  readonly graceMs?: number | undefined;
}

/** How a person signs in to a server. */
export interface GatewaySignInOptions {
  /** The origin that they agreed to sign in at, if it is not that of the authorization server. Default: none. */
  readonly confirmedOrigin?: string | undefined;
  onShown(request: SignInRequest): void;
}

/** A running gateway. */
export interface Gateway extends AsyncDisposable {
  /** The base URL, `http://host:port`; undefined where it does not listen. */
  readonly url: string | undefined;
  /** The endpoint for clients of Streamable HTTP; undefined where it does not listen. */
  readonly endpoint: string | undefined;
  /** The target for clients of Channelz; undefined where it does not listen. */
  readonly address: string | undefined;
  /** The token that requests must carry; undefined where there is none, or it stands in a file. */
  readonly token: string | undefined;
  /** The token that who changes something through the administration must bring besides. */
  readonly adminToken: string;
  readonly registry: Registry;
  /** The servers behind, as of now. */
  servers(): readonly ServerStatus[];
  /**
   * Takes up a changed configuration. What did not change goes on as it is. Calls in flight of what changed or is gone go on,
   * for `limits.drainMs` at the most; it does not wait for them.
   */
  reload(plugins: readonly PluginServers[], tools?: Filters): Promise<void>;
  /** Tries a server at once, where it is not connected. Rejects with SERVER_UNKNOWN. */
  reconnect(server: string): Promise<void>;
  /** To sign in and out of a server by OAuth; undefined where its entry brings its own credential. Rejects with SERVER_UNKNOWN. */
  oauth(server: string): Promise<OAuthSession | undefined>;
  /**
   * Lets a person sign in to a server, or joins those who do. `onShown` is called with what they have to do. Resolves when they have,
   * and the server was tried. Rejects with SERVER_UNKNOWN, or as `OAuthSession.signIn` does.
   */
  signIn(server: string, options: GatewaySignInOptions): Promise<void>;
  /** Serves one client over pipes, until its input ends. */
  serveStdio(input: Readable, output: Writable): StdioClient;
  /** Stops: takes nothing new, lets calls in flight end, and leaves nothing open. May be called twice. */
  close(options?: GatewayCloseOptions): Promise<void>;
}

/**
 * Starts a gateway: one port for Channelz and for the servers behind, as one. Resolves when it listens; the servers connect
 * meanwhile. Rejects as `listenChannelz` does: LISTEN_EXPOSED, LISTEN_FAILED, TOKEN_UNUSABLE; with a TypeError for a limit
 * that is none.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { secrets, clock = systemClock, info = { name: "wirescope", version: "0.1.0" } } = options;
  const registry = options.registry ?? createRegistry();
  const limits = completeLimits(options.limits);
  const teller = createTeller(options.onEvent);
  const tell: Teller = Object.assign(
    (event: GatewayEvent): void => {
      teller(event);
      if (event.kind === "server-state" || event.kind === "reloaded") admin?.poke();
    },
    { isHeard: teller.isHeard },
  );
  const metrics = createMetrics();
  const traceFields = createTraceFieldReader(options.telemetry?.propagators ?? ["tracecontext"]);
  const isUnix = options.listen !== false && options.listen?.path !== undefined;
  const transport = isUnix ? "unix" : "tcp";
  const telemetry = await openTelemetry({ given: options.telemetry ?? {}, reader: traceFields, transport });
  const onDefect = (error: unknown): void => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    tell({ kind: "defect", reason: secrets.redact(reason) });
  };
  const eventLog = createEventLog({ tell, redact: secrets.redact, tellsArguments: options.tellsArguments ?? false });
  const observers = joinObservers([metrics, eventLog, ...(telemetry ? [telemetry] : [])], onDefect);
  const notices = createNotices(onDefect);
  const observation = observeToolServers({ registry });
  const sessions: Sessions = createSessions({ limits, notices, tell, onLogLevel: () => setLogLevel() });
  const upstreams = createUpstreams({
    secrets,
    info,
    isUnprefixed: options.isUnprefixed ?? false,
    limits,
    clock,
    tell,
    notices,
    observers,
    onNotification: (upstream, method, params, call) => hub.onNotification(upstream, method, params, call),
  });
  const hub: Hub = createHub({
    info,
    upstreams: () => upstreams.all,
    offersSignIn: options.signIn !== undefined,
    notices,
  });
  /** Asks servers for the log messages that any client wants. */
  const setLogLevel = (): void => {
    for (const { subscriptions } of upstreams.all) subscriptions.setLogLevel(sessions.leastLogLevel());
  };
  let plugins = options.plugins;
  const adminToken = newToken();
  secrets.add(adminToken);
  let admin: Admin | undefined;
  const signIns = createSignIns(() => admin?.poke());
  const openAdmin = async (): Promise<Admin> => {
    // Loaded for the first call, as Channelz is.
    const { createAdmin } = await import("./admin/admin.js");
    admin = createAdmin({
      upstreams,
      plugins: () => plugins,
      secrets,
      info,
      notices,
      signIns,
      debug: options.debug,
      onReload: options.onReload,
      channelId: observation.channelId,
      adminToken,
    });
    if (isClosing) admin.close();
    return admin;
  };
  const callSignIns =
    options.signIn && createCallSignIns({ ...options.signIn, upstreams, signIns, notices, secrets, clock, tell });
  const dispatch = createDispatch({
    hub,
    observers,
    metrics,
    tell,
    onDefect,
    traceFields,
    retry: callSignIns?.retry,
  });
  const parked = createParkedCalls({ most: limits.parkedCalls, timeoutMs: limits.inputMs });
  const parts: EndpointParts = {
    hub,
    limits,
    metrics,
    dispatch,
    sessions,
    stateless: createStatelessRequests({ hub, dispatch, parked, onDefect }),
    subscriptions: createClientSubscriptions({ hub, notices, most: limits.listeners, onDefect }),
    accounts: createAccounts(limits),
    streams: createEventStreams(),
    requesterOf: createRequesters(options.listen === false || options.listen?.token !== false),
  };
  const stdioClients = new Set<StdioClient>();
  let isClosing = false;
  const stopping = new AbortController();

  const closeAll = async (graceMs: number): Promise<void> => {
    isClosing = true;
    parts.subscriptions.close();
    admin?.close();
    callSignIns?.close();
    stopping.abort(new ToolServerError("CONNECTION_CLOSED", { problem: "The gateway stops.", advice: "" }));
    // Nobody can come back for them.
    parked.close();
    await parts.accounts.idle(graceMs, new RpcError(rpcCodes.failed, "The gateway stops."));
    sessions.close("The gateway stops.");
    for (const client of stdioClients) client.close();
    parts.streams.close();
    await listener?.close({ deadlineMs: Math.min(graceMs, closeMs) });
    await upstreams.close();
    notices.close();
    observation.stop();
    // Last, for what ended meanwhile is told too. Whatever becomes of it, the gateway has stopped.
    await telemetry?.close().catch(() => {});
  };

  const gauges = createGauges(parts, upstreams, parked);
  telemetry?.observe({ metrics, gauges, hasServer: (name) => upstreams.named(name) !== undefined });
  const routes = createRoutes(parts, upstreams, { gauges, isClosing: () => isClosing, pages: options.pages ?? {} });
  let listener: ChannelzListener | undefined;
  let token: string | undefined;
  await upstreams.reload(options.plugins, options.tools ?? {});
  if (options.listen !== false) {
    const listen = options.listen ?? {};
    token = tokenOf(listen);
    if (token !== undefined) secrets.add(token);
    try {
      listener = await listenChannelz(registry, {
        ...listenOptionsOf(listen, token),
        fallback: routes,
        services: openAdmin,
        publicPaths: [...publicPaths, ...Object.keys(options.pages ?? {})],
        requiresTls: true,
        observer: observeListener(registry, info.name),
      });
      listener.health.set(adminService, "SERVING");
    } catch (error) {
      await closeAll(0);
      throw error;
    }
  }
  let closed: Promise<void> | undefined;
  const isTcp = listener !== undefined && !listener.url.startsWith("unix:");
  const name = options.listen === false ? undefined : options.listen?.allowedHosts?.[0];
  const url = listener && reachable(listener.url, name);

  const gateway: Gateway = {
    url,
    endpoint: isTcp ? `${url}/mcp` : undefined,
    address: listener && reachable(listener.address, name),
    token,
    adminToken,
    registry,
    servers: upstreams.statuses,
    async reload(next, tools = options.tools ?? {}) {
      await upstreams.reload(next, tools);
      plugins = next;
      // Those that are new have not heard what clients want to hear.
      setLogLevel();
    },
    reconnect: upstreams.reconnect,
    oauth: upstreams.oauth,
    async signIn(server, { confirmedOrigin = "", onShown }) {
      const session = await upstreams.oauth(server);
      if (session === undefined) throw new TypeError(`The server ${JSON.stringify(server)} brings its own credential.`);
      await signIns.run(server, session, {
        way: undefined,
        scopes: [],
        confirmedIssuer: "",
        confirmedOrigin,
        signal: stopping.signal,
        onShown: ({ request }) => onShown(request),
        onWaiting() {},
      });
      await upstreams.reconnect(server);
    },
    serveStdio(input, output) {
      const client = serveStdio(parts, input, output);
      stdioClients.add(client);
      void client.closed.then(() => stdioClients.delete(client));
      return client;
    },
    close: ({ graceMs = 5000 } = {}) => {
      closed ??= closeAll(graceMs);
      return closed;
    },
    [Symbol.asyncDispose]: () => gateway.close(),
  };
  return gateway;
}

/** By this name the health of the administration is asked for. */
const adminService = "wirescope.v1.AdminService";

/** How long connections may take to end once nothing runs on them, in milliseconds. */
const closeMs = 1000;

function tokenOf({ token, tokenFile }: GatewayListenOptions): string | undefined {
  if (token === false || tokenFile !== undefined) return token === false ? undefined : token;
  return token ?? newToken();
}

/** The options of the listener: what is undefined is left out, and there is room for streams that stay open. */
function listenOptionsOf(
  listen: GatewayListenOptions,
  token: string | undefined,
): Parameters<typeof listenChannelz>[1] {
  const { host, port, path, tls, tokenFile, allowedHosts, allowedOrigins, limits } = listen;
  return {
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(path !== undefined && { path }),
    ...(tls !== undefined && { tls }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
    limits: { maxConnections: 8192, ...limits },
    cors: {
      methods: ["DELETE"],
      requestHeaders: [
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
        "accept",
        adminHeader,
        "traceparent",
        "tracestate",
      ],
      responseHeaders: ["mcp-session-id"],
    },
  };
}

function newToken(): string {
  return randomBytes(24).toString("base64url");
}
