import { randomUUID } from "node:crypto";
import { printableText } from "@wirescope/channelz/internal";
import { type Clock, type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { Ask, OAuthLogin, SignInPrompt } from "@wirescope/tool-server/auth";
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
import { supportsRequest } from "../servers/server-requests.js";
import type { GatewayServers } from "../servers/servers.js";
import type { FailedCall, RetryCall } from "./dispatch.js";

/** How the user signs in when a call needs it. For a gateway whose clients run on the same machine, for the same user. */
export interface GatewaySignIn {
  /** Opens a page in the user's browser. Resolves with whether it could be started. Default: no browser opens. */
  readonly openBrowser?: ((url: string) => Promise<boolean>) | undefined;
  /** A link that starts the sign-in to a server, for the error message if the user cannot be asked. Default: none. */
  readonly linkTo?: ((server: string) => Promise<string>) | undefined;
}

export interface CallSignInsOptions extends GatewaySignIn {
  readonly servers: Pick<GatewayServers, "named">;
  readonly secrets: SecretRegistry;
  readonly clock: Clock;
  readonly events: Pick<GatewayEvents, "emit">;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
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

/** Repeats a call after a sign-in; undefined if it failed for another reason. Rejects with an RpcError or a ToolServerError. */
export function createCallSignIns(options: CallSignInsOptions): RetryCall {
  const { servers, clock, events, closing, openBrowser, linkTo } = options;
  const links = options.secrets.rotating(64);
  const prompts = new Map<string, PromptHistory>();
  /** Whether calls could show a prompt, after all that have tried. */
  const showing = new WeakMap<SignInPrompt, Promise<boolean>>();
  /** The last sign-in to each server: when it was over by `performance.now()`, and the reconnection after it. */
  const done = new Map<string, { at: number; readonly reconnected: Promise<void> }>();

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

  /** Reconnects a server after a sign-in, once for all who have waited for it. */
  const reconnect = (server: string, since: number): Promise<void> => {
    const last = done.get(server);
    if (last !== undefined && last.at > since) return last.reconnected;
    const reconnected = Promise.resolve(servers.named(server)?.reconnect()).finally(() => {
      ended.at = performance.now();
    });
    const ended = { at: Number.POSITIVE_INFINITY, reconnected };
    done.set(server, ended);
    return reconnected;
  };

  const askFor = (call: ClientCall, login: OAuthLogin): Ask => {
    /** In place of a call that does not wait any more: the user may still finish. */
    const stay = async (server: string, elicitationId: string): Promise<void> => {
      const startedAt = performance.now();
      await login.signIn({ show: async () => undefined }, {}, closing);
      await reconnect(server, startedAt);
      events.emit({ kind: "elicitation-completed", server: undefined, elicitationId });
    };

    /** Resolves with whether the client or the browser could show the page. Rejects if the user declines in the client. */
    const showPage = async (prompt: SignInPrompt, signal: AbortSignal): Promise<boolean> => {
      const { server, issuer } = prompt;
      const elicitationId = randomUUID();
      const onShown = (how: string): void => {
        pause(server);
        const reason = `${how} at ${issuer}, because a call from ${call.account.label} needs a sign-in.`;
        events.emit({ kind: "sign-in", server, reason });
      };
      let isShown = false;
      if (showsPages(call)) {
        onShown("Asked the client to open a page");
        const params = { mode: "url", elicitationId, url: urlOf(prompt), message: messageOf(prompt) };
        const response = await call.ask("elicitation/create", params, signal).catch(() => undefined);
        isShown = response?.action === "accept";
        if (response !== undefined && !isShown) throw declined(server);
      }
      if (!isShown && !signal.aborted && (await openBrowser?.(urlOf(prompt)).catch(() => false))) {
        onShown("Opened the browser");
        isShown = true;
      }
      if (isShown && !signal.aborted) void stay(server, elicitationId).catch(() => {});
      return isShown;
    };

    return {
      async show(prompt, signal) {
        const before = showing.get(prompt) ?? Promise.resolve(undefined);
        // Again if it was shown some time ago, because the user may have closed the page. The first time not within the pause: then the
        // page that somebody else started shows it.
        const shown = before.then((isShown) => {
          if (signal.aborted) return isShown ?? false;
          return isShown === false || mayShow(prompt.server) ? showPage(prompt, signal) : true;
        });
        showing.set(prompt, shown);
        if (!(await shown)) throw cannotBeShown(prompt.server);
        return undefined;
      },
    };
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
    const last = done.get(name);
    if (last !== undefined && last.at > call.startedAt) return abortable(last.reconnected, call, name);
    const login = await abortable(server.oauth(), call, name);
    if (login === undefined || login.isMachine) throw error;
    if (openBrowser === undefined && !showsPages(call)) throw await withLink(name, error);
    if (!login.isSigningIn && !mayShow(name)) {
      throw await withLink(name, error, " You were asked a moment ago, so the browser is not opened again yet.");
    }
    const { progressToken } = call;
    if (progressToken !== undefined) {
      const message = `Waiting for you to sign in to ${name}.`;
      call.notify("notifications/progress", { progressToken, progress: 0, message });
    }
    const reason = login.describe().issuer === undefined ? "first" : "dead";
    const refused = login.cachedToken() ?? undefined;
    const startedAt = performance.now();
    const signal = AbortSignal.any([call.signal, closing]);
    try {
      const signedIn = login.signIn(askFor(call, login), { reason, refused }, signal);
      await abortable(
        signedIn.then(() => reconnect(name, startedAt)),
        call,
        name,
      );
    } catch (failure) {
      if (call.aborted) throw failure;
      if (servers.named(name) !== server && ToolServerError.is(failure, "CREDENTIAL_CLOSED")) {
        // A reload ended the sign-in, perhaps because the user has corrected its settings.
        endPause(name);
        throw notCalled(name);
      }
      const hasFailed = ToolServerError.is(failure) && failure.code !== "SIGN_IN_NEEDED";
      throw await withLink(name, hasFailed ? failure : error);
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

  return (failed) => {
    const { call, error } = failed;
    const maySignIn = methods.has(call.method) && !call.account.isForwarded;
    const server = maySignIn ? serverNeedingSignIn(error, call) : undefined;
    return server && retry(server, failed);
  };
}

/** Whether the client supports URL elicitation. */
function showsPages({ capabilities }: ClientCall): boolean {
  return supportsRequest(capabilities, "elicitation/create", { mode: "url" });
}

function urlOf({ way }: SignInPrompt): string {
  return way.kind === "device" ? (way.completeUrl ?? way.url) : way.url;
}

function messageOf({ server, issuer, scopes, way }: SignInPrompt): string {
  const code = way.kind === "device" ? ` Enter the code ${JSON.stringify(way.userCode)} there.` : "";
  // Each in quotes, because the server chooses them: without quotes they could read like our own sentence.
  const names = scopes.map((scope) => JSON.stringify(scope)).join(", ");
  const requested = names === "" ? "" : ` Requested scopes: ${names}.`;
  return printableText(`Sign in to ${JSON.stringify(server)} with ${issuer}.${code}${requested}`, 1000);
}

function declined(server: string): ToolServerError {
  const problem = `The sign-in to the server ${JSON.stringify(server)} was declined in the client.`;
  return new ToolServerError("SIGN_IN_FAILED", { problem, advice: "" });
}

function cannotBeShown(server: string): ToolServerError {
  const problem = `The page of the sign-in to the server ${JSON.stringify(server)} cannot be shown.`;
  return new ToolServerError("SIGN_IN_NEEDED", { problem, advice: "" });
}
