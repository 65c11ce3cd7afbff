import { create, type DescFile } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import type { ConnectionInfo, SecretRegistry } from "@wirescope/tool-server";
import type { OAuthSession } from "@wirescope/tool-server/auth";
import type { Implementation } from "@wirescope/tool-server/internal";
import type { Explanation } from "@wirescope/tool-server/why";
import type { DebugSwitch } from "../debug-switch.js";
import {
  AdminService,
  ApproveResponseSchema,
  CompleteSignInResponseSchema,
  file_wirescope_v1_admin,
  ListServersResponseSchema,
  ReconnectResponseSchema,
  ReloadResponseSchema,
  type Server,
  SetDebugResponseSchema,
  type SignInResponse,
  SignInResponseSchema,
} from "../gen/wirescope/v1/admin_pb.js";
import type { Notices } from "../notices.js";
import type { PluginServers } from "../servers/plugin-servers.js";
import type { Upstream } from "../servers/upstream.js";
import type { Upstreams } from "../servers/upstreams.js";
import type { SignIns } from "../sign-in/sign-ins.js";
import { adminErrorOf } from "./admin-error.js";
import { createAdministratorCheck } from "./administrator.js";
import { approve, judgeUpstream } from "./approve.js";
import { createChanges } from "./changes.js";
import { explainUpstream } from "./explain-upstream.js";
import { approvalToMessage } from "./messages/approval-message.js";
import { explanationToMessage } from "./messages/explanation-message.js";
import { serverToMessage } from "./messages/server-message.js";
import { signOutToMessage } from "./messages/sign-out-message.js";
import { pageOf } from "./page.js";
import { redactMessage } from "./redact-message.js";
import { signInStream } from "./sign-in-stream.js";
import { watchServers } from "./watch-servers.js";

/** The service by which a gateway is administered. */
export interface Admin {
  readonly files: readonly DescFile[];
  readonly routes: (router: ConnectRouter) => void;
  /** Something may have changed. */
  poke(): void;
  /** Ends the streams that are open, and the sign-ins with them. */
  close(): void;
}

export interface AdminOptions {
  readonly upstreams: Upstreams;
  readonly plugins: () => readonly PluginServers[];
  readonly secrets: SecretRegistry;
  readonly info: Implementation;
  readonly notices: Notices;
  /** Shared with the calls that need a sign-in: a client that joins one is shown the same. */
  readonly signIns: SignIns;
  readonly channelId: (connection: ConnectionInfo) => number | undefined;
  readonly debug: DebugSwitch | undefined;
  readonly onReload: (() => Promise<void>) | undefined;
  /** What who changes something has to bring, besides what the guard asks of everybody. */
  readonly adminToken: string;
}

/** How many may watch at once. */
const mostWatchers = 64;

/** What must arrive whole, or a person cannot use it. */
const neededWhole: ReadonlySet<string> = new Set(["url", "completeUrl", "userCode", "redirectUri", "signInId"]);

export function createAdmin(options: AdminOptions): Admin {
  const { upstreams, secrets, info, signIns } = options;
  const redact = (text: string): string => secrets.redact(text);
  const stopping = new AbortController();
  const changes = createChanges(options.notices);
  const explaining = new Map<string, Promise<Explanation>>();

  const pluginOf = (name: string): PluginServers | undefined =>
    options.plugins().find(({ configuration }) => configuration.entries.some((entry) => entry.name === name));

  const messageOf = (upstream: Upstream): Server => {
    const { name, entry, info } = upstream;
    const message = serverToMessage(upstream.status(), {
      type: entry.type,
      configuration: pluginOf(name)?.configurationPath,
      channelId: info && options.channelId(info),
      isSigningIn: signIns.isUnderWay(name),
    });
    // Text from the server. What is ours, such as its name and its target, is not for the server to hide.
    message.serverName = upstream.redact(message.serverName);
    message.serverVersion = upstream.redact(message.serverVersion);
    if (message.failure !== undefined) redactMessage(message.failure, upstream.redact);
    return redactMessage(message, redact);
  };
  const read = (): Server[] => upstreams.all.map(messageOf);

  const assertAdministrator = createAdministratorCheck(options.adminToken);

  const sessionOf = async (upstream: Upstream): Promise<OAuthSession> => {
    const session = await upstream.oauth();
    if (session !== undefined) return session;
    throw new ConnectError(
      `The server ${JSON.stringify(upstream.name)} brings its own credential, so there is nothing to sign in to or out of. See its entry in the configuration.`,
      Code.FailedPrecondition,
    );
  };

  const explain = (upstream: Upstream): Promise<Explanation> => {
    const { name } = upstream;
    const plugin = pluginOf(name);
    if (plugin === undefined) throw new ConnectError(`${name} has just gone. Ask again.`, Code.Aborted);
    const { failure, state } = upstream.status();
    const signInFailure = state === "READY" ? undefined : signIns.lastFailure(name);
    // A walk takes its time, and knocks at the server: who asks while one is under way shares it.
    const walk =
      explaining.get(name) ??
      explainUpstream({ server: name, plugin, secrets, info, failure, signInFailure }).finally(() =>
        explaining.delete(name),
      );
    explaining.set(name, walk);
    return walk;
  };

  /** The response, or the failure as an error of the service. */
  const answer = async <T extends object>(task: () => Promise<T> | T): Promise<T> => {
    try {
      return await task();
    } catch (error) {
      throw adminErrorOf(error, redact);
    }
  };

  async function* signIn(
    upstream: Upstream,
    request: Parameters<typeof signInStream>[0]["request"],
    context: HandlerContext,
  ): AsyncGenerator<SignInResponse> {
    const session = await sessionOf(upstream);
    const signal = AbortSignal.any([context.signal, stopping.signal]);
    for await (const response of signInStream({ request, session, signIns, signal })) {
      yield redactMessage(response, redact, (field) => neededWhole.has(field));
    }
    await upstream.reconnect();
    yield create(SignInResponseSchema, { event: { case: "done", value: { server: messageOf(upstream) } } });
  }

  const routes = (router: ConnectRouter): void => {
    router.service(AdminService, {
      listServers: (request) =>
        answer(() => {
          const { items, nextPageToken } = pageOf(upstreams.all, request);
          return create(ListServersResponseSchema, { servers: items.map(messageOf), nextPageToken });
        }),
      watchServers(_, context) {
        if (changes.watchers >= mostWatchers) {
          throw new ConnectError(
            `${mostWatchers} callers watch already. Ask with ListServers.`,
            Code.ResourceExhausted,
          );
        }
        return watchServers(read, changes, AbortSignal.any([context.signal, stopping.signal]));
      },
      async *signIn(request, context) {
        try {
          assertAdministrator(context);
          yield* signIn(upstreams.find(request.server), request, context);
        } catch (error) {
          throw adminErrorOf(error, redact);
        }
      },
      completeSignIn: ({ signInId, address }, context) =>
        answer(() => {
          assertAdministrator(context);
          if (signIns.complete(signInId, address)) return create(CompleteSignInResponseSchema);
          throw new ConnectError("No such sign-in is under way. Begin again.", Code.NotFound);
        }),
      signOut: ({ server }, context) =>
        answer(async () => {
          assertAdministrator(context);
          const upstream = upstreams.find(server);
          const report = await (await sessionOf(upstream)).signOut(context.signal);
          changes.poke();
          // So that it is seen at once that it is refused, and its tools go.
          upstream.tools.invalidate();
          await upstream.tools.get();
          return redactMessage(signOutToMessage(report), upstream.redact);
        }),
      reconnect: ({ server }, context) =>
        answer(async () => {
          // This may start a program.
          assertAdministrator(context);
          const upstream = upstreams.find(server);
          await upstream.reconnect();
          return create(ReconnectResponseSchema, { server: messageOf(upstream) });
        }),
      getApproval: ({ server }) =>
        answer(async () => {
          const upstream = upstreams.find(server);
          // Not redacted: a person must see all that is to be approved. Variables in it are not expanded.
          return approvalToMessage(server, await judgeUpstream(upstream, pluginOf(server)));
        }),
      approve: ({ server, fingerprint }, context) =>
        answer(async () => {
          assertAdministrator(context);
          const upstream = upstreams.find(server);
          await approve(upstream, pluginOf(server), fingerprint);
          await upstream.reconnect();
          return create(ApproveResponseSchema, { server: messageOf(upstream) });
        }),
      reload: (_, context) =>
        answer(async () => {
          assertAdministrator(context);
          if (options.onReload === undefined) {
            throw new ConnectError(
              "This gateway is part of a program that does not read a configuration again. Restart the program.",
              Code.FailedPrecondition,
            );
          }
          await options.onReload();
          return create(ReloadResponseSchema, { servers: upstreams.all.map(({ name }) => name) });
        }),
      setDebug: ({ enabled }, context) =>
        answer(() => {
          assertAdministrator(context);
          const { debug } = options;
          if (debug === undefined) {
            throw new ConnectError(
              "This gateway is part of a program that has no debug mode.",
              Code.FailedPrecondition,
            );
          }
          const wasEnabled = debug.isOn;
          debug.set(enabled);
          return create(SetDebugResponseSchema, { wasEnabled });
        }),
      explain: ({ server }, context) =>
        answer(async () => {
          // This starts the program of a stdio server, and helpers.
          assertAdministrator(context);
          const upstream = upstreams.find(server);
          const explanation = await explain(upstream);
          // What was just found to work is not left waiting for its next attempt.
          if (explanation.isWell && upstream.status().state !== "READY") await upstream.reconnect();
          return redactMessage(explanationToMessage(explanation), redact);
        }),
    });
  };

  return {
    files: [file_wirescope_v1_admin],
    routes,
    poke: changes.poke,
    close: () => stopping.abort(new ConnectError("The gateway stops.", Code.Unavailable)),
  };
}
