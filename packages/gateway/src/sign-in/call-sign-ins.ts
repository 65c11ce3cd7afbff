import { type Clock, type SecretRegistry, ToolServerError } from "@wirescope/tool-server";
import type { OAuthSession } from "@wirescope/tool-server/auth";
import { faultOf, isObject, type JsonObject, RpcError } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { FailedCall, RetryCall } from "../dispatch/dispatch.js";
import type { GatewayListener } from "../events.js";
import type { Notices } from "../notices.js";
import type { Upstream } from "../servers/upstream.js";
import type { Upstreams } from "../servers/upstreams.js";
import { beginSharedSignIn, cannotBeShown, type SharedSignIn, showsPages } from "./shared-sign-in.js";
import type { SignIns } from "./sign-ins.js";

/** How a person signs in when a call needs it. For a gateway whose clients run on its machine, for the same person. */
export interface GatewaySignIn {
  /** Opens a page in the person's browser. Resolves with whether it could be started. Default: no browser opens. */
  readonly openBrowser?: ((url: string) => Promise<boolean>) | undefined;
  /** A link that starts the sign-in to a server, for the error of a call that nobody can be asked for. Default: none. */
  readonly linkTo?: ((server: string) => Promise<string>) | undefined;
}

/** Lets people sign in when calls need it. */
export interface CallSignIns {
  /** Makes the call again after a sign-in; undefined if it did not fail for the lack of one. Rejects with an RpcError or a ToolServerError. */
  readonly retry: RetryCall;
  close(): void;
}

export interface CallSignInsOptions extends GatewaySignIn {
  readonly upstreams: Pick<Upstreams, "named">;
  readonly signIns: SignIns;
  readonly notices: Pick<Notices, "onVisitCompleted">;
  readonly secrets: SecretRegistry;
  readonly clock: Clock;
  readonly tell: GatewayListener;
}

/** What a person does on purpose. Lists are asked for by programs. */
const methods: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);

/** How long a person is left alone after they were asked, in milliseconds: doubles each time until a call works. */
const [firstPauseMs, maxPauseMs] = [60_000, 600_000];
/** A call that works ends the pause only if there were no more pages than this, because a server decides which calls work. */
const [maxPages, forgetMs] = [3, 3_600_000];

/** What a person was asked for, of late. */
interface Asked {
  readonly count: number;
  readonly at: number;
  readonly pauseMs: number;
}

export function createCallSignIns(options: CallSignInsOptions): CallSignIns {
  const { upstreams, signIns, notices, clock, tell, openBrowser, linkTo } = options;
  const links = options.secrets.rotating(64);
  const underWay = new Map<string, SharedSignIn>();
  const asked = new Map<string, Asked>();
  /** When a sign-in to a server last succeeded, by `performance.now()`. */
  const doneAt = new Map<string, number>();

  const askedOfLate = (server: string): Asked | undefined => {
    const last = asked.get(server);
    return last !== undefined && clock.now() - last.at < forgetMs ? last : undefined;
  };
  const mayShow = (server: string): boolean => {
    const last = askedOfLate(server);
    return last === undefined || clock.now() >= last.at + last.pauseMs;
  };
  const pause = (server: string): void => {
    const count = (askedOfLate(server)?.count ?? 0) + 1;
    asked.set(server, { count, at: clock.now(), pauseMs: Math.min(firstPauseMs * 2 ** (count - 1), maxPauseMs) });
  };
  const endPause = (server: string): void => {
    const last = asked.get(server);
    if (last !== undefined && last.count <= maxPages) asked.set(server, { ...last, pauseMs: 0 });
  };

  const begin = (upstream: Upstream, session: OAuthSession): SharedSignIn => {
    const { name: server } = upstream;
    const shared: SharedSignIn = beginSharedSignIn({
      server,
      openBrowser,
      async run(signal, onShown) {
        try {
          await signIns.run(server, session, {
            way: undefined,
            scopes: [],
            reason: session.describe().issuer === undefined ? "first" : "dead",
            confirmedIssuer: "",
            confirmedOrigin: "",
            signal,
            onShown: ({ request }) => onShown(request),
            onWaiting() {},
          });
          await upstream.reconnect();
          doneAt.set(server, performance.now());
        } finally {
          if (underWay.get(server) === shared) underWay.delete(server);
        }
      },
      mayShow: () => mayShow(server),
      onShown(way, { issuer }, { account }) {
        pause(server);
        const how = way === "browser" ? "The browser was opened" : "The client was asked to open a page";
        tell({ kind: "sign-in", server, reason: `${how} at ${issuer}, because a call of ${account.label} needs it.` });
      },
      onVisitCompleted: notices.onVisitCompleted,
    });
    underWay.set(server, shared);
    return shared;
  };

  /** The server that a call failed at for the lack of a sign-in. */
  const toSignInTo = (error: unknown, { route }: ClientCall): Upstream | undefined => {
    if (ToolServerError.is(error, "SIGN_IN_NEEDED")) return route && upstreams.named(route.server);
    const { reason, server } = error instanceof RpcError && isObject(error.data) ? error.data : {};
    if (reason !== "SIGN_IN_NEEDED" || typeof server !== "string") return undefined;
    // A client that was asked something during the call may have made the error up.
    const upstream = upstreams.named(server);
    return upstream?.status().failure?.code === reason ? upstream : undefined;
  };

  /** The failure with what a person can do about it. */
  const advised = async (server: string, error: unknown, why = ""): Promise<RpcError> => {
    const { code, message, data } = faultOf(error);
    const url = await linkTo?.(server).catch(() => undefined);
    // The log and the audit hold the messages of errors, and others read them.
    if (url !== undefined) links.add(url);
    const link = url === undefined ? "" : ` Or open this link, which works once: ${url}`;
    return new RpcError(code, `${message}${why}${link}`, { data: { ...(isObject(data) && data), server, url } });
  };

  const signIn = async (upstream: Upstream, { error, call }: FailedCall): Promise<void> => {
    const { name: server } = upstream;
    // Another call may have brought a sign-in about since this one was sent.
    if ((doneAt.get(server) ?? 0) > call.startedAt) return;
    const session = await upstream.oauth();
    if (session === undefined || session.isMachine) throw error;
    if (openBrowser === undefined && !showsPages(call)) throw await advised(server, error);
    const current = underWay.get(server);
    const found = current?.isOver ? undefined : current;
    if (found === undefined && !mayShow(server)) {
      throw await advised(server, error, " You were asked to a moment ago, so no browser opens for it yet.");
    }
    try {
      await (found ?? begin(upstream, session)).join(call);
    } catch (failure) {
      if (call.aborted) throw failure;
      throw await advised(server, failure === cannotBeShown || !ToolServerError.is(failure) ? error : failure);
    }
  };

  const retry = async (upstream: Upstream, failed: FailedCall): Promise<JsonObject> => {
    await signIn(upstream, failed);
    try {
      const result = await failed.again();
      endPause(upstream.name);
      return result;
    } catch (error) {
      throw toSignInTo(error, failed.call) === undefined ? error : await advised(upstream.name, error);
    }
  };

  return {
    retry(failed) {
      const { call, error } = failed;
      const upstream = methods.has(call.method) ? toSignInTo(error, call) : undefined;
      return upstream && retry(upstream, failed);
    },
    close() {
      for (const shared of underWay.values()) {
        shared.cancel(new ToolServerError("CONNECTION_CLOSED", { problem: "The gateway stops.", advice: "" }));
      }
    },
  };
}
