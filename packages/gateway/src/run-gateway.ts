import { type ChannelzListener, createRequestCheck, listenChannelz } from "@wirescope/channelz/listener";
import { createRegistry } from "@wirescope/channelz/registry";
import { nameClient, observeListener } from "@wirescope/instrument/internal";
import { ToolServerError } from "@wirescope/tool-server";
import { defaultClientInfo, type LogLevel, RpcError, rpcCodes, systemClock } from "@wirescope/tool-server/internal";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import { adminHeader } from "./admin/client/admin-header.js";
import { createAccounts } from "./callers/accounts.js";
import { createParkedCalls } from "./callers/parked-calls.js";
import { createSessions } from "./callers/sessions.js";
import { createStatelessRequests } from "./callers/stateless-requests.js";
import { createClientSubscriptions } from "./callers/subscriptions.js";
import { createCallSignIns } from "./dispatch/call-sign-ins.js";
import { createDispatch } from "./dispatch/dispatch.js";
import { createMergedServer, type MergedServer } from "./dispatch/merged-server.js";
import { createTasks } from "./dispatch/tasks.js";
import type { EndpointContext } from "./endpoint/endpoint-context.js";
import { createEventStreams } from "./endpoint/event-streams.js";
import { headerOf } from "./endpoint/http-request.js";
import { type StdioClient, serveStdio } from "./endpoint/serve-stdio.js";
import { createTurnQueue } from "./endpoint/turn-queue.js";
import { createEvents } from "./events.js";
import type { Gateway } from "./gateway.js";
import { createGatewayObservers } from "./gateway-observers.js";
import type { GatewayOptions } from "./gateway-options.js";
import { createGatewayServices } from "./gateway-services.js";
import { completeLimits } from "./limits.js";
import { createConnectionShortages } from "./listener/connection-shortage.js";
import { corsOf, createToken, listenerOptionsOf, reachableAddress, tokenOf } from "./listener/listen-options.js";
import { createMountedHandler } from "./listener/mounted-handler.js";
import { createRequesters } from "./listener/requester.js";
import { createRoutes, publicPaths, servedPaths } from "./listener/routes.js";
import { isCall } from "./page/is-call.js";
import { createPage } from "./page/page.js";
import { keyHeader } from "./page/page-paths.js";
import { createGatewayServers } from "./servers/servers.js";
import { createTaskTable } from "./servers/task-table.js";
import { createTraceFieldReader } from "./trace-fields.js";

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
  const traceFields = createTraceFieldReader(options.telemetry?.propagators ?? ["tracecontext"]);
  const access = options.listen === false ? (options.access ?? {}) : (options.listen ?? {});
  const token = tokenOf(access);
  const check = createRequestCheck({ ...access, token, cors: corsOf([]) });
  const isUnix = options.listen !== false && options.listen?.path !== undefined;
  const transport = isUnix ? "unix" : "tcp";
  /** Redacts text about a server, including secrets that the server revealed. */
  const redactAbout = (text: string, server: string | undefined, kind?: "own"): string =>
    ((server === undefined ? undefined : servers.named(server)) ?? secrets).redact(text, kind);
  const contact = options.contact ?? (() => undefined);
  const observers = await createGatewayObservers({
    registry,
    gateway: {
      sessions: () => sessions.all.size,
      eventStreams: () => context.streams.size,
      subscriptions: () => context.subscriptions.size,
      parkedCalls: () => parked.size,
      servers: () => servers.statuses(),
      hasServer: (name) => servers.named(name) !== undefined,
      hasConnection: (connection) => servers.all.some((server) => server.connectionInfo() === connection),
    },
    events,
    clock,
    redact: redactAbout,
    telemetry: options.telemetry ?? {},
    traceFields,
    transport,
    logsArguments: options.logsArguments ?? false,
    capturesBodies: options.capturesBodies ?? false,
  });
  const table = createTaskTable({ max: limits.tasks, clock });
  const servers = createGatewayServers({
    secrets,
    info,
    isUnprefixed: options.isUnprefixed ?? false,
    limits,
    tasks: table,
    clock,
    events,
    observers: observers.calls,
  });
  const tasks = createTasks({
    table,
    servers: () => servers.all,
    maxWaiting: limits.parkedCalls,
    inputMs: limits.inputMs,
  });
  const merged: MergedServer = createMergedServer({
    info,
    servers: () => servers.all,
    offersSignIn: options.signIn !== undefined,
    tasks,
    contact,
    onDefect: events.reportDefect,
  });
  const setLogLevel = (level: LogLevel | undefined): void => {
    for (const { subscriptions } of servers.all) subscriptions.setLogLevel(level);
  };
  const sessions = createSessions({ limits, events, onLogLevel: setLogLevel });
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
        features: { servers: true, tools: true, calls: false, capture: false, ...observers.features },
      }),
      isServed: (path) =>
        servedPaths.has(path) || Object.hasOwn(observers.pages, path) || Object.hasOwn(options.pages ?? {}, path),
    });
  const adminToken = createToken();
  secrets.add(adminToken);
  const shortages = createConnectionShortages(events, clock);
  const services = createGatewayServices({
    registry,
    observers: observers.services,
    page,
    servers,
    configurations: () => configurations,
    secrets,
    info,
    events,
    debug: options.debug,
    onReload: options.onReload,
    reloadFailure: options.reloadFailure ?? (() => undefined),
    notes: () => [shortages.current() ?? [], options.notes?.() ?? []].flat(),
    channelId: observers.channelId,
    adminToken,
  });
  const stopping = new AbortController();
  const dispatch = createDispatch({
    merged,
    observers: observers.calls,
    events,
    traceFields,
    retry:
      options.signIn &&
      createCallSignIns({ ...options.signIn, servers, secrets, clock, events, closing: stopping.signal }),
    contact,
  });
  const parked = createParkedCalls({ max: limits.parkedCalls, timeoutMs: limits.inputMs });
  let isClosing = false;
  let isForwardReported = false;
  const context: EndpointContext = {
    merged,
    limits,
    events,
    dispatch,
    sessions,
    stateless: createStatelessRequests({ merged, dispatch, parked, events }),
    subscriptions: createClientSubscriptions({ merged, events, max: limits.listeners }),
    accounts: createAccounts(limits),
    streams: createEventStreams(),
    turns: createTurnQueue(),
    nameClient: (request, { label }) => nameClient(request, label),
    requesterOf: createRequesters({
      hasToken: access.token !== false,
      browserOf({ headers }) {
        if (headers.cookie === undefined) return undefined;
        return page?.sessionOf({ cookie: headers.cookie, key: headerOf(headers, keyHeader) })?.id;
      },
      onForwarded() {
        if (isForwardReported || options.signIn === undefined) return;
        isForwardReported = true;
        const problem =
          "A request came through a proxy. Clients behind it may be on other machines, so their calls start no sign-in.";
        const advice = `Sign in on the page (${commandLine("page")}) or with ${commandLine("login")} <server>.`;
        events.emit({ kind: "defect", reason: `${problem} ${advice}` });
      },
    }),
    isClosing: () => isClosing,
  };
  const stdioClients = new Set<StdioClient>();

  const closeAll = async (graceMs: number): Promise<void> => {
    isClosing = true;
    context.subscriptions.close();
    services.close();
    stopping.abort(new ToolServerError("CONNECTION_CLOSED", { problem: shutdownReason, advice: "" }));
    // Clients cannot return for them any more.
    parked.close();
    tasks.close();
    await context.accounts.idle(graceMs, new RpcError(rpcCodes.failed, shutdownReason));
    sessions.close(shutdownReason);
    for (const client of stdioClients) client.close();
    context.streams.close();
    await listener?.close({ deadlineMs: Math.min(graceMs, closeMs) });
    await servers.close();
    events.close();
    await observers.close();
  };

  const routes = createRoutes(context, {
    texts: observers.pages,
    isReady: () => servers.all.every((server) => server.isSettled()),
    pages: options.pages ?? {},
    handlePage: page?.handle,
  });
  let listener: ChannelzListener | undefined;
  if (token !== undefined) secrets.add(token);
  await servers.reload(options.configurations, options.tools ?? {}, options.servers ?? {});
  if (options.listen !== false) {
    const listen = options.listen ?? {};
    try {
      listener = await listenChannelz(registry, {
        ...listenerOptionsOf(listen, token, [adminHeader]),
        fallback: routes,
        services: services.open,
        publicPaths: [...publicPaths, ...Object.keys(options.pages ?? {})],
        ...(page && { admit: page.admit }),
        requiresTls: true,
        onShortage: shortages.onShortage,
        observer: observeListener(registry, info.name, isCall),
      });
      for (const name of services.names) listener.health.set(name, "SERVING");
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
      setLogLevel(sessions.minLogLevel());
    },
    reconnect: async (server) => servers.find(server).reconnect(),
    oauth: async (server) => servers.find(server).oauth(),
    async signIn(server, ask, signInOptions) {
      const login = await servers.find(server).oauth();
      if (login === undefined)
        throw new TypeError(`Server ${JSON.stringify(server)} does not use OAuth, so there is nothing to sign in to.`);
      await login.obtainToken(ask, signInOptions, stopping.signal);
      await servers.find(server).reconnect();
    },
    handler: createMountedHandler(context, check),
    serveStdio(input, output) {
      const client = serveStdio(context, input, output);
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

/** How long connections may take to end after the last call, in milliseconds. */
const closeMs = 1000;

const shutdownReason = "The gateway is shutting down.";
