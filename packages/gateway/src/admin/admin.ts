import { create, type DescFile } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import type { ConnectionInfo, SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { OAuthLogin } from "@wirescope/tool-server/auth";
import { type Implementation, whyNoOAuth } from "@wirescope/tool-server/internal";
import type { GatewayEvents } from "../events.js";
import {
  AdminService,
  type ExplainResponse,
  ExplainResponseSchema,
  type Failure,
  FailureSchema,
  file_wirescope_v1_admin,
  type Server,
  type SignInRequest,
  type SignInResponse,
  SignInResponseSchema,
} from "../gen/wirescope/v1/admin_pb.js";
import type { GatewayConfiguration } from "../servers/gateway-configuration.js";
import type { GatewayServer } from "../servers/server.js";
import type { GatewayServers } from "../servers/servers.js";
import { adminErrorOf, pageOf, redactMessage } from "./admin-request.js";
import { approve, trustOf } from "./approve.js";
import { createDiagnoses, explainGatewayServer } from "./explain.js";
import { approvalToMessage } from "./messages/approval-message.js";
import { explanationToMessage, stepToMessage } from "./messages/explanation-message.js";
import { failureToMessage, serverToMessage } from "./messages/server-message.js";
import { signOutToMessage } from "./messages/sign-in-message.js";
import { createServerHistory } from "./server-history.js";
import { returnAddress, signInStream } from "./sign-in-stream.js";
import { type ChangesPace, createChanges, type ServersState, watchServers } from "./watch-servers.js";

/** The administration service of a gateway. */
export interface Admin {
  readonly files: readonly DescFile[];
  readonly routes: (router: ConnectRouter) => void;
  /** Ends open streams, and the sign-ins that they started. */
  close(): void;
}

export interface AdminOptions {
  readonly servers: GatewayServers;
  readonly configurations: () => readonly GatewayConfiguration[];
  readonly secrets: SecretRegistry;
  readonly info: Implementation;
  readonly events: Pick<GatewayEvents, "subscribe">;
  readonly channelId: (connection: ConnectionInfo) => number | undefined;
  readonly debug: DebugSwitch | undefined;
  readonly onReload: (() => Promise<void>) | undefined;
  /** Why the last attempt to read the configuration again failed; undefined if it succeeded. */
  readonly reloadFailure: () => ToolServerError | undefined;
  /** What the user should know about the gateway itself. */
  readonly notes: () => readonly string[];
  /** Whether earlier states of the servers, of the last 15 minutes, can be listed. */
  readonly keepsHistory: boolean;
  /** For methods that change something. Throws PERMISSION_DENIED. */
  readonly assertAdministrator: (context: HandlerContext) => void;
}

const maxWatchers = 64;
const watchPace: ChangesPace = { collectMs: 25, sweepMs: 2000 };

/** Fields that are not redacted, because the user needs their exact value. */
const unredactedFields: ReadonlySet<string> = new Set(["url", "completeUrl", "userCode", "redirectUri", "signInId"]);

export function createAdmin(options: AdminOptions): Admin {
  const { servers, secrets, info, assertAdministrator } = options;
  // Text of servers in messages is redacted before.
  const redact = (text: string): string => secrets.redact(text, "own");
  const stopping = new AbortController();
  const pasting = new Map<string, (address: string) => void>();
  const changes = createChanges(options.events, watchPace);
  const diagnoses = createDiagnoses();

  /** The configuration that a server is used from, or else one that disables it. */
  const configurationOf = (name: string): GatewayConfiguration | undefined => {
    const find = (isDisabled: boolean): GatewayConfiguration | undefined =>
      options
        .configurations()
        .find(({ configuration: { entries } }) =>
          entries.some((entry) => entry.name === name && entry.isDisabled === isDisabled),
        );
    return find(false) ?? find(true);
  };

  const messageOf = (server: GatewayServer): Server => {
    const { name, entry } = server;
    const connection = server.connectionInfo();
    const message = serverToMessage(server.status(), {
      type: entry.type,
      configuration: configurationOf(name)?.configurationPath,
      channelId: connection && options.channelId(connection),
    });
    // Only text from the server: a server must not be able to hide its configured name or target.
    message.serverName = server.redact(message.serverName);
    message.serverVersion = server.redact(message.serverVersion);
    message.listProblems = message.listProblems.map((problem) => server.redact(problem));
    if (message.failure !== undefined) redactMessage(message.failure, (text) => server.redact(text, "own"));
    return redactMessage(message, redact);
  };
  const read = (): Server[] => servers.all.map(messageOf);
  const reloadFailure = (): { readonly reloadFailure?: Failure } => {
    const error = options.reloadFailure();
    return error === undefined
      ? {}
      : { reloadFailure: redactMessage(create(FailureSchema, failureToMessage(error)), redact) };
  };
  const history = options.keepsHistory
    ? createServerHistory({ read, events: options.events, now: Date.now })
    : undefined;

  const loginOf = async (server: GatewayServer): Promise<OAuthLogin> => {
    const login = await server.oauth();
    if (login !== undefined) return login;
    const type = configurationOf(server.name)?.configuration.entries.find(({ name }) => name === server.name)?.type;
    throw new ConnectError(`Server ${JSON.stringify(server.name)} ${whyNoOAuth(type)}.`, Code.FailedPrecondition);
  };

  async function* explain(name: string, signal: AbortSignal): AsyncGenerator<ExplainResponse> {
    const configured = configurationOf(name);
    const isDisabled = configured?.configuration.entries.some((entry) => entry.name === name && entry.isDisabled);
    // A disabled server is not one of the gateway's.
    const server = isDisabled ? undefined : servers.find(name);
    if (configured === undefined)
      throw new ConnectError(`Server ${JSON.stringify(name)} was just removed. Try again.`, Code.Aborted);
    const { failure } = server?.status() ?? {};
    const explainOptions = { server: name, configured, secrets, info, failure };
    const steps = diagnoses.follow(name, (onStep) => explainGatewayServer({ ...explainOptions, onStep }), signal);
    const respond = (event: ExplainResponse["event"]): ExplainResponse =>
      redactMessage(create(ExplainResponseSchema, { event }), redact);
    for (;;) {
      const { done, value } = await steps.next();
      if (done) {
        // A server that works now should reconnect at once.
        if (value.isWell && server !== undefined && server.status().state !== "READY") await server.reconnect();
        yield respond({ case: "explanation", value: explanationToMessage(value) });
        return;
      }
      yield respond({ case: "step", value: stepToMessage(value) });
    }
  }

  type Method<Request, Response> = (request: Request, context: HandlerContext) => Response;

  /** A method whose failures are thrown as a ConnectError. */
  const reading =
    <Request, Response>(method: Method<Request, Response | Promise<Response>>): Method<Request, Promise<Response>> =>
    async (request, context) => {
      try {
        return await method(request, context);
      } catch (error) {
        throw adminErrorOf(error, redact);
      }
    };
  /** The same for a method of administrators, which changes something or starts a program. */
  const changing = <Request, Response>(
    method: Method<Request, Response | Promise<Response>>,
  ): Method<Request, Promise<Response>> =>
    reading((request, context) => {
      assertAdministrator(context);
      return method(request, context);
    });
  /** The same for a method with several responses. */
  const streaming = <Request, Response>(
    method: Method<Request, AsyncIterable<Response>>,
  ): Method<Request, AsyncIterable<Response>> =>
    async function* (request, context) {
      try {
        assertAdministrator(context);
        yield* method(request, context);
      } catch (error) {
        throw adminErrorOf(error, redact);
      }
    };

  async function* signIn(
    server: GatewayServer,
    request: SignInRequest,
    context: HandlerContext,
  ): AsyncGenerator<SignInResponse> {
    const login = await loginOf(server);
    const signal = AbortSignal.any([context.signal, stopping.signal]);
    const returnTo = returnAddress(context.requestHeader.get("origin"), request.returnPath);
    for await (const response of signInStream({ request, login, pasting, returnTo, signal })) {
      yield redactMessage(response, redact, (field) => unredactedFields.has(field));
    }
    await server.reconnect();
    yield create(SignInResponseSchema, { event: { case: "done", value: { server: messageOf(server) } } });
  }

  const routes = (router: ConnectRouter): void => {
    router.service(AdminService, {
      listServers: reading((request) => {
        if (request.time !== undefined && history !== undefined) {
          const { servers: then, timeMs } = history.at(timestampMs(request.time));
          const { items, nextPageToken } = pageOf(then, request);
          return { servers: [...items], nextPageToken, time: timestampFromMs(timeMs) };
        }
        const { items, nextPageToken } = pageOf(servers.all, request);
        const notes = options.notes().map(redact);
        return { servers: items.map(messageOf), nextPageToken, notes, ...reloadFailure() };
      }),
      watchServers(_, context) {
        if (changes.watchers >= maxWatchers) {
          throw new ConnectError(
            `The limit of ${maxWatchers} watchers is reached. Use ListServers.`,
            Code.ResourceExhausted,
          );
        }
        const state = (): ServersState => ({ servers: read(), ...reloadFailure() });
        return watchServers(state, changes, AbortSignal.any([context.signal, stopping.signal]));
      },
      signIn: streaming((request, context) => signIn(servers.find(request.server), request, context)),
      completeSignIn: changing(({ signInId, address }) => {
        const paste = pasting.get(signInId);
        pasting.delete(signInId);
        if (paste === undefined)
          throw new ConnectError("This sign-in is not in progress. Start a new one.", Code.NotFound);
        paste(address);
        return {};
      }),
      signOut: changing(async ({ server: name, all }, context) => {
        const server = servers.find(name);
        const report = await (await loginOf(server)).signOut(context.signal, { isEverywhere: all });
        changes.notifySoon();
        // Makes the refusal visible at once, and removes the server's tools.
        server.tools.invalidate();
        await server.tools.get();
        return redactMessage(signOutToMessage(report), server.redact);
      }),
      // It may start a program.
      reconnect: changing(async ({ server: name }) => {
        const server = servers.find(name);
        await server.reconnect();
        return { server: messageOf(server) };
      }),
      ping: reading(async ({ server: name }) => {
        const start = performance.now();
        await servers.find(name).ping();
        return { durationMs: performance.now() - start };
      }),
      getApproval: reading(async ({ server: name }) => {
        const server = servers.find(name);
        const { entry } = server;
        // Not redacted: the user must see everything that they approve. Variables are not expanded.
        const decision = await trustOf(configurationOf(name)).evaluate(entry);
        return approvalToMessage(name, decision, server.status().toolChanges);
      }),
      approve: changing(async ({ server: name, fingerprint }) => {
        const server = servers.find(name);
        await approve(server, configurationOf(name), fingerprint);
        await server.reconnect();
        return { server: messageOf(server) };
      }),
      reload: changing(async () => {
        if (options.onReload === undefined) {
          throw new ConnectError(
            "This gateway cannot reload its configuration. Restart the program.",
            Code.FailedPrecondition,
          );
        }
        await options.onReload();
        return { servers: servers.all.map(({ name }) => name) };
      }),
      setDebug: changing(({ enabled }) => {
        const { debug } = options;
        if (debug === undefined) {
          throw new ConnectError("This gateway has no debug mode.", Code.FailedPrecondition);
        }
        const wasEnabled = debug.isOn;
        debug.set(enabled);
        return { wasEnabled };
      }),
      // It starts the program of a stdio server, and helpers.
      explain: streaming(({ server: name }, context) =>
        explain(name, AbortSignal.any([context.signal, stopping.signal])),
      ),
    });
  };

  return {
    files: [file_wirescope_v1_admin],
    routes,
    close() {
      history?.close();
      stopping.abort(new ConnectError("The gateway is shutting down.", Code.Unavailable));
    },
  };
}

/** Switches the debug mode of the program that runs a gateway. */
export interface DebugSwitch {
  readonly isOn: boolean;
  set(isOn: boolean): void;
}
