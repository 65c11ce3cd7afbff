import type { Readable, Writable } from "node:stream";
import { type ChannelzListener, listenChannelz } from "@wirescope/channelz/listener";
import { createRegistry, type Registry } from "@wirescope/channelz/registry";
import type { TimelineServiceParts } from "@wirescope/channelz/timeline";
import { observeListener } from "@wirescope/instrument/internal";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import { ToolServerError } from "@wirescope/tool-server";
import type { OAuthSession, SignInRequest } from "@wirescope/tool-server/auth";
import { defaultClientInfo, RpcError, rpcCodes, systemClock } from "@wirescope/tool-server/internal";
import type { Admin } from "./admin/admin.js";
import { adminHeader } from "./admin/client/admin-header.js";
import { joinObservers } from "./call-observer.js";
import { createAccounts } from "./callers/accounts.js";
import { createParkedCalls } from "./callers/parked-calls.js";
import { createSessions, type Sessions } from "./callers/sessions.js";
import { createStatelessRequests } from "./callers/stateless-requests.js";
import { createClientSubscriptions } from "./callers/subscriptions.js";
import { createCallSignIns } from "./dispatch/call-sign-ins.js";
import { createDispatch } from "./dispatch/dispatch.js";
import { createHub, type Hub } from "./dispatch/hub.js";
import { createTasks } from "./dispatch/tasks.js";
import type { EndpointParts } from "./endpoint/endpoint-parts.js";
import { createEventStreams } from "./endpoint/event-streams.js";
import { headerOf } from "./endpoint/http-exchange.js";
import { type StdioClient, serveStdio } from "./endpoint/serve-stdio.js";
import { createTurnQueue } from "./endpoint/turn-queue.js";
import { createEvents } from "./events.js";
import type { GatewayOptions } from "./gateway-options.js";
import { completeLimits } from "./limits.js";
import { createToken, listenerOptionsOf, reachableAddress, tokenOf } from "./listener/listen-options.js";
import { createRequesters } from "./listener/principal.js";
import { createRoutes, publicPaths } from "./listener/routes.js";
import { createCallLog } from "./observers/call-log/call-log.js";
import type { CallServiceParts } from "./observers/call-log/call-service.js";
import { createEventLog } from "./observers/event-log.js";
import { createGauges } from "./observers/metrics/gauges.js";
import { createMetrics } from "./observers/metrics/metrics.js";
import { startTelemetry } from "./observers/telemetry/start-telemetry.js";
import { createPage } from "./page/page.js";
import { keyHeader } from "./page/page-paths.js";
import type { GatewayConfiguration } from "./servers/gateway-configuration.js";
import type { ServerStatus } from "./servers/server.js";
import type { SettingsByServer } from "./servers/server-settings.js";
import { createGatewayServers, type Filters } from "./servers/servers.js";
import { createSignIns } from "./servers/sign-ins.js";
import { createTaskTable } from "./servers/task-table.js";
import { createTraceFieldReader } from "./trace-fields.js";

/** How a gateway shuts down. */
export interface GatewayCloseOptions {
  /** Milliseconds for calls in flight to end; then they are cancelled. Default 5000. */
  readonly graceMs?: number | undefined;
}

/** How a user signs in to a server. */
export interface GatewaySignInOptions {
  /** The origin that the user confirmed, if it is not that of the authorization server. Default: none. */
  readonly confirmedOrigin?: string | undefined;
  /** The page on which the user started it, for a link on the last page of the sign-in. Default: none. */
  readonly returnTo?: string | undefined;
  onShown(request: SignInRequest): void;
}

/** A running gateway. */
export interface Gateway extends AsyncDisposable {
  /** The base URL, `http://host:port`; undefined if it does not listen. */
  readonly url: string | undefined;
  /** The URL for clients of Streamable HTTP; undefined if it does not listen on TCP. */
  readonly endpoint: string | undefined;
  /** The target for Channelz clients; undefined if it does not listen. */
  readonly address: string | undefined;
  /** The token that requests must carry; undefined if no token is required, or it is in a file. */
  readonly token: string | undefined;
  /** The additional token for administration requests that change something. */
  readonly adminToken: string;
  readonly registry: Registry;
  /** The current state of each server. */
  servers(): readonly ServerStatus[];
  /**
   * Applies a changed configuration. Servers that did not change keep their connection. Calls in flight on servers that changed or were
   * removed have `limits.drainMs` to end; it does not wait for them.
   */
  reload(configurations: readonly GatewayConfiguration[], tools?: Filters, servers?: SettingsByServer): Promise<void>;
  /** Connects a server at once if it is not connected. Rejects with SERVER_UNKNOWN. */
  reconnect(server: string): Promise<void>;
  /** To sign in and out of a server by OAuth; undefined if its entry has its own credential. Rejects with SERVER_UNKNOWN. */
  oauth(server: string): Promise<OAuthSession | undefined>;
  /**
   * Signs a user in to a server, or joins a sign-in in progress. `onShown` is called with what the user has to do. Resolves after the
   * sign-in and an attempt to connect. Rejects with SERVER_UNKNOWN, or as `OAuthSession.signIn` does.
   */
  signIn(server: string, options: GatewaySignInOptions): Promise<void>;
  /** Serves one client over stdio, until its input ends. */
  serveStdio(input: Readable, output: Writable): StdioClient;
  /** Shuts down: accepts no new requests, waits for calls in flight, and closes everything. May be called twice. */
  close(options?: GatewayCloseOptions): Promise<void>;
}

/**
 * Starts a gateway: one endpoint for all servers, and Channelz on the same port. Resolves when it listens; the servers connect
 * meanwhile. Rejects as `listenChannelz` does, with LISTEN_EXPOSED, LISTEN_FAILED or TOKEN_UNUSABLE, and with a TypeError for an
 * invalid limit.
 */
export async function runGateway(options: GatewayOptions): Promise<Gateway> {
  const { secrets, clock = systemClock, info = defaultClientInfo } = options;
  const registry = options.registry ?? createRegistry();
  const limits = completeLimits(options.limits);
  const events = createEvents({ onEvent: options.onEvent, redact: secrets.redact });
  const onDefect = events.reportDefect;
  const traceFields = createTraceFieldReader(options.telemetry?.propagators ?? ["tracecontext"]);
  const isUnix = options.listen !== false && options.listen?.path !== undefined;
  const transport = isUnix ? "unix" : "tcp";
  const telemetry = await startTelemetry({ telemetry: options.telemetry ?? {}, reader: traceFields, transport });
  const metrics = createMetrics(events);
  const eventLog = createEventLog({ events, redact: secrets.redact, logsArguments: options.logsArguments ?? false });
  const observation = observeToolServers({ registry });
  /** Redacts text about a server, which may have made secrets known. */
  const redactAbout = (text: string, server: string | undefined): string =>
    ((server === undefined ? undefined : servers.named(server)) ?? secrets).redact(text);
  const calls = createCallLog({
    objectId: observation.objectId,
    redact: redactAbout,
    now: () => clock.now(),
    capturesBodies: options.capturesBodies,
  });
  const observers = joinObservers([metrics, calls, eventLog, ...(telemetry ? [telemetry] : [])], onDefect);
  const sessions: Sessions = createSessions({ limits, events, onLogLevel: () => setLogLevel() });
  const table = createTaskTable({ max: limits.tasks, clock });
  const servers = createGatewayServers({
    secrets,
    info,
    isUnprefixed: options.isUnprefixed ?? false,
    limits,
    tasks: table,
    clock,
    events,
    observers,
    onOAuthStep: (server, step) => signIns.onStep(server, step),
  });
  const tasks = createTasks({
    table,
    servers: () => servers.all,
    maxWaiting: limits.parkedCalls,
    inputMs: limits.inputMs,
  });
  const hub: Hub = createHub({
    info,
    servers: () => servers.all,
    offersSignIn: options.signIn !== undefined,
    tasks,
  });
  /** Sets the log level of all servers to the lowest that any client has set. */
  const setLogLevel = (): void => {
    for (const { subscriptions } of servers.all) subscriptions.setLogLevel(sessions.minLogLevel());
  };
  let configurations = options.configurations;
  const page =
    options.page &&
    createPage({
      ...options.page,
      isSecure: options.listen !== false && options.listen?.tls !== undefined,
      info: () => ({
        kind: "gateway",
        title: gateway.address ?? "",
        targets: [gateway.address ?? ""],
        version: info.version,
        features: { servers: true, tools: true, calls: true, capture: options.capturesBodies ?? false },
      }),
    });
  const adminToken = createToken();
  secrets.add(adminToken);
  let services: (Admin | CallServiceParts | TimelineServiceParts)[] = [];
  const signIns = createSignIns(events);
  const openServices = async (): Promise<Pick<Admin, "files" | "routes">> => {
    // Loaded with the first request, as Channelz is.
    const [{ createAdmin }, { createAdministratorCheck }, { createCallService }, { createTimelineService }] =
      await Promise.all([
        import("./admin/admin.js"),
        import("./admin/admin-request.js"),
        import("./observers/call-log/call-service.js"),
        import("@wirescope/channelz/timeline"),
      ]);
    const isAdministratorPage = (headers: Headers): boolean => {
      const given = { cookie: headers.get("cookie") ?? undefined, key: headers.get(keyHeader) ?? undefined };
      return page?.sessionOf(given)?.rights === "administrator";
    };
    const assertAdministrator = createAdministratorCheck(adminToken, isAdministratorPage);
    const admin = createAdmin({
      servers,
      configurations: () => configurations,
      secrets,
      info,
      events,
      signIns,
      debug: options.debug,
      onReload: options.onReload,
      channelId: observation.channelId,
      adminToken,
      isAdministratorPage,
      keepsHistory: page !== undefined,
    });
    services = [
      admin,
      createCallService({ log: calls, redact: redactAbout, assertAdministrator }),
      createTimelineService(registry, { keepsHistory: page !== undefined }),
    ];
    if (isClosing) for (const service of services) service.close();
    return {
      files: services.flatMap(({ files }) => files),
      routes(router) {
        for (const { routes } of services) routes(router);
      },
    };
  };
  const callSignIns =
    options.signIn && createCallSignIns({ ...options.signIn, servers, signIns, secrets, clock, events });
  const dispatch = createDispatch({
    hub,
    observers,
    events,
    traceFields,
    retry: callSignIns?.retry,
  });
  const parked = createParkedCalls({ max: limits.parkedCalls, timeoutMs: limits.inputMs });
  const parts: EndpointParts = {
    hub,
    limits,
    events,
    dispatch,
    sessions,
    stateless: createStatelessRequests({ hub, dispatch, parked, onDefect }),
    subscriptions: createClientSubscriptions({ hub, events, max: limits.listeners, onDefect }),
    accounts: createAccounts(limits),
    streams: createEventStreams(),
    turns: createTurnQueue(),
    requesterOf: createRequesters(options.listen === false || options.listen?.token !== false, ({ headers }) => {
      if (headers.cookie === undefined) return undefined;
      return page?.sessionOf({ cookie: headers.cookie, key: headerOf(headers, keyHeader) })?.id;
    }),
  };
  const stdioClients = new Set<StdioClient>();
  let isClosing = false;
  const stopping = new AbortController();

  const closeAll = async (graceMs: number): Promise<void> => {
    isClosing = true;
    parts.subscriptions.close();
    for (const service of services) service.close();
    callSignIns?.close();
    stopping.abort(new ToolServerError("CONNECTION_CLOSED", { problem: shutdownReason, advice: "" }));
    // No client can return for them.
    parked.close();
    tasks.close();
    await parts.accounts.idle(graceMs, new RpcError(rpcCodes.failed, shutdownReason));
    sessions.close(shutdownReason);
    for (const client of stdioClients) client.close();
    parts.streams.close();
    await listener?.close({ deadlineMs: Math.min(graceMs, closeMs) });
    await servers.close();
    events.close();
    calls.close();
    observation.stop();
    // Last, to export what ended meanwhile. If that fails, the gateway has shut down all the same.
    await telemetry?.close().catch(() => {});
  };

  const gauges = createGauges({
    sessions,
    streams: parts.streams,
    subscriptions: parts.subscriptions,
    parked,
    servers: servers.statuses,
    hasConnection: (connection) => servers.all.some(({ info }) => info === connection),
  });
  telemetry?.observe({ metrics, gauges, hasServer: (name) => servers.named(name) !== undefined });
  const routes = createRoutes(parts, {
    metrics: () => metrics.render(gauges()),
    isReady: () => servers.all.every(({ isSettled }) => isSettled),
    isClosing: () => isClosing,
    pages: options.pages ?? {},
    handlePage: page?.handle,
  });
  let listener: ChannelzListener | undefined;
  let token: string | undefined;
  await servers.reload(options.configurations, options.tools ?? {}, options.servers ?? {});
  if (options.listen !== false) {
    const listen = options.listen ?? {};
    token = tokenOf(listen);
    if (token !== undefined) secrets.add(token);
    try {
      listener = await listenChannelz(registry, {
        ...listenerOptionsOf(listen, token, [adminHeader]),
        fallback: routes,
        services: openServices,
        publicPaths: [...publicPaths, ...Object.keys(options.pages ?? {})],
        ...(page && { admit: page.admit }),
        requiresTls: true,
        observer: observeListener(registry, info.name),
      });
      for (const name of serviceNames) listener.health.set(name, "SERVING");
    } catch (error) {
      await closeAll(0);
      throw error;
    }
  }
  let closed: Promise<void> | undefined;
  const isTcp = listener !== undefined && !listener.url.startsWith("unix:");
  const name = options.listen === false ? undefined : options.listen?.allowedHosts?.[0];
  const url = listener && reachableAddress(listener.url, name);

  const gateway: Gateway = {
    url,
    endpoint: isTcp ? `${url}/mcp` : undefined,
    address: listener && reachableAddress(listener.address, name),
    token,
    adminToken,
    registry,
    servers: servers.statuses,
    async reload(next, tools = options.tools ?? {}, settings = options.servers ?? {}) {
      await servers.reload(next, tools, settings);
      configurations = next;
      // New servers do not have the log level yet.
      setLogLevel();
    },
    reconnect: servers.reconnect,
    oauth: servers.oauth,
    async signIn(server, { confirmedOrigin = "", returnTo, onShown }) {
      const session = await servers.oauth(server);
      if (session === undefined)
        throw new TypeError(
          `Server ${JSON.stringify(server)} has its own credential in the configuration, so there is nothing to sign in to.`,
        );
      await signIns.run(server, session, {
        way: undefined,
        scopes: [],
        confirmedIssuer: "",
        confirmedOrigin,
        returnTo,
        signal: stopping.signal,
        onShown: ({ request }) => onShown(request),
        onWaiting() {},
      });
      await servers.reconnect(server);
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

/** The names of the services in the health service. */
const serviceNames = ["wirescope.v1.AdminService", "wirescope.v1.CallService", "wirescope.v1.TimelineService"];

/** How long connections may take to end after the last call, in milliseconds. */
const closeMs = 1000;

const shutdownReason = "The gateway is shutting down.";
