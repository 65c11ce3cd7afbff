import { type Clock, type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { OAuthLogin } from "@wirescope/tool-server/auth";
import {
  abortable,
  backOffMs,
  errorObjectOf,
  isObject,
  RpcError,
  type RpcObject,
} from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import { problemOf } from "../client-message.js";
import type { GatewayEvents } from "../events.js";
import type { GatewayServer } from "../servers/server.js";
import { notCalled } from "../servers/server-calls.js";
import type { GatewayServers } from "../servers/servers.js";
import type { FailedCall, RetryCall } from "./dispatch.js";
import { beginSharedSignIn, cannotBeShown, type SharedSignIn, showsPages } from "./shared-sign-in.js";

/** How the user signs in when a call needs it. For a gateway whose clients run on the same machine, for the same user. */
export interface GatewaySignIn {
  /** Opens a page in the user's browser. Resolves with whether it could be started. Default: no browser opens. */
  readonly openBrowser?: ((url: string) => Promise<boolean>) | undefined;
  /** A link that starts the sign-in to a server, for the error message if the user cannot be asked. Default: none. */
  readonly linkTo?: ((server: string) => Promise<string>) | undefined;
}

/** Starts sign-ins when calls need them. */
export interface CallSignIns {
  /**
   * Repeats a call after a sign-in; undefined if it failed for another reason. Rejects with an RpcError or a ToolServerError: with a
   * ServerReplacedError if a reload replaces the server during the sign-in.
   */
  readonly retry: RetryCall;
  close(): void;
}

export interface CallSignInsOptions extends GatewaySignIn {
  readonly servers: Pick<GatewayServers, "named">;
  readonly secrets: SecretRegistry;
  readonly clock: Clock;
  readonly events: Pick<GatewayEvents, "emit">;
}

/** Methods that a user triggers, and those about a task that a user has started. Lists are requested by programs. */
const methods: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "resources/directory/read",
  "skills/get",
  "tasks/get",
  "tasks/update",
  "tasks/result",
  "tasks/cancel",
]);

/** Milliseconds until the user is prompted again: doubles each time until a call succeeds. */
const [firstPauseMs, maxPauseMs] = [60_000, 600_000];
/**
 * After more than this many prompts, a successful call no longer ends the pause, because the server decides which calls succeed. Prompts
 * are counted until `forgetMs` milliseconds after the last one.
 */
const [maxPrompts, forgetMs] = [3, 3_600_000];

/** The recent prompts for one server. */
interface PromptHistory {
  readonly count: number;
  readonly at: number;
  readonly pauseMs: number;
}

export function createCallSignIns(options: CallSignInsOptions): CallSignIns {
  const { servers, clock, events, openBrowser, linkTo } = options;
  const links = options.secrets.rotating(64);
  const inProgress = new Map<GatewayServer, SharedSignIn>();
  const prompts = new Map<string, PromptHistory>();
  /** When a sign-in to a server last succeeded, by `performance.now()`. */
  const doneAt = new Map<string, number>();

  const recentPrompts = (server: string): PromptHistory | undefined => {
    const last = prompts.get(server);
    return last !== undefined && clock.now() - last.at < forgetMs ? last : undefined;
  };
  const mayShow = (server: string): boolean => {
    const last = recentPrompts(server);
    return last === undefined || clock.now() >= last.at + last.pauseMs;
  };
  const pause = (server: string): void => {
    const count = (recentPrompts(server)?.count ?? 0) + 1;
    prompts.set(server, { count, at: clock.now(), pauseMs: backOffMs(count, firstPauseMs, maxPauseMs) });
  };
  const endPause = (server: string): void => {
    const last = prompts.get(server);
    if (last !== undefined && last.count <= maxPrompts) prompts.set(server, { ...last, pauseMs: 0 });
  };

  const begin = (server: GatewayServer, session: OAuthLogin): SharedSignIn => {
    const { name } = server;
    const shared: SharedSignIn = beginSharedSignIn({
      server: name,
      openBrowser,
      async run(ask, signal) {
        try {
          const reason = session.describe().issuer === undefined ? "first" : "dead";
          await session.obtainToken(ask, { reason, refused: session.cachedToken() ?? undefined }, signal);
          await servers.named(name)?.reconnect();
          doneAt.set(name, performance.now());
        } finally {
          if (inProgress.get(server) === shared) inProgress.delete(server);
        }
      },
      mayShow: () => mayShow(name),
      onShown(way, { issuer }, { account }) {
        pause(name);
        const how = way === "browser" ? "Opened the browser" : "Asked the client to open a page";
        const reason = `${how} at ${issuer}, because a call from ${account.label} needs a sign-in.`;
        events.emit({ kind: "sign-in", server: name, reason });
      },
      onCompleted: (elicitationId) => events.emit({ kind: "elicitation-completed", server: undefined, elicitationId }),
    });
    inProgress.set(server, shared);
    return shared;
  };

  /** The server for which a call failed because of a missing sign-in. */
  const serverNeedingSignIn = (error: unknown, { route }: ClientCall): GatewayServer | undefined => {
    if (ToolServerError.is(error, "SIGN_IN_NEEDED")) return route && servers.named(route.server);
    const { reason, server: name } = error instanceof RpcError && isObject(error.data) ? error.data : {};
    if (reason !== "SIGN_IN_NEEDED" || typeof name !== "string") return undefined;
    // A client that responded to a request during the call may have invented the error.
    const server = servers.named(name);
    return server?.status().failure?.code === reason ? server : undefined;
  };

  /** The failure, with a link for the user. */
  const withLink = async (server: string, error: unknown, why = ""): Promise<RpcError> => {
    const { code, message, data } = errorObjectOf(error);
    const url = await linkTo?.(server).catch(() => undefined);
    // The link must not appear in the log and the audit, which contain error messages.
    if (url !== undefined) links.add(url);
    const open = `open this link, which works once: ${url}`;
    const problem = problemOf(error);
    return new RpcError(code, `${message}${why}${url === undefined ? "" : ` Or ${open}`}`, {
      data: { ...(isObject(data) && data), server, url },
      problem: problem && `${problem}${why}${url === undefined ? "" : ` To sign in, ${open}`}`,
    });
  };

  const signIn = async (server: GatewayServer, { error, call }: FailedCall): Promise<void> => {
    const { name } = server;
    // Another call may have completed a sign-in since this one was sent.
    if ((doneAt.get(name) ?? 0) > call.startedAt) return;
    const session = await abortable(server.oauth(), call, name);
    if (session === undefined || session.isMachine) throw error;
    if (openBrowser === undefined && !showsPages(call)) throw await withLink(name, error);
    const current = inProgress.get(server);
    const found = current?.isOver ? undefined : current;
    if (found === undefined && !mayShow(name)) {
      throw await withLink(name, error, " You were asked a moment ago, so the browser is not opened again yet.");
    }
    try {
      await (found ?? begin(server, session)).join(call);
    } catch (failure) {
      if (call.aborted) throw failure;
      const named = servers.named(name);
      if (named !== server && ToolServerError.is(failure, "CREDENTIAL_CLOSED")) {
        // A reload ended the sign-in, perhaps because the user has corrected its settings.
        endPause(name);
        throw notCalled(name, named === undefined ? "removed" : "changed");
      }
      throw await withLink(name, failure === cannotBeShown || !ToolServerError.is(failure) ? error : failure);
    }
  };

  const retry = async (server: GatewayServer, failed: FailedCall): Promise<RpcObject> => {
    const { phases } = failed.call;
    phases?.retry(errorObjectOf(failed.error).message);
    phases?.begin("credential", server.connectionInfo());
    await signIn(server, failed);
    phases?.end("credential");
    try {
      const result = await failed.again();
      endPause(server.name);
      return result;
    } catch (error) {
      throw serverNeedingSignIn(error, failed.call) === undefined ? error : await withLink(server.name, error);
    }
  };

  return {
    retry(failed) {
      const { call, error } = failed;
      const maySignIn = methods.has(call.method) && !call.account.isForwarded;
      const server = maySignIn ? serverNeedingSignIn(error, call) : undefined;
      return server && retry(server, failed);
    },
    close() {
      for (const shared of inProgress.values()) {
        shared.cancel(
          new ToolServerError("CONNECTION_CLOSED", { problem: "The gateway is shutting down.", advice: "" }),
        );
      }
    },
  };
}
