import {
  type CallOutcome,
  type Implementation,
  isId,
  isLevelAtLeast,
  isObject,
  type JsonObject,
  type LogLevel,
  type RequestId,
  RpcError,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { CallSession, ClientAccount, ClientCall, RequestHeaders, WatchedResource } from "../client-call.js";
import type { Dispatch } from "../dispatch/dispatch.js";
import type { NoticeListener } from "../notices.js";
import type { Outlet } from "./outlet.js";
import { createQuestions } from "./questions.js";
import { type CallHost, SessionCall } from "./session-call.js";

/** What a client of the older era said of itself. */
export interface SessionInit {
  readonly id: string;
  readonly account: ClientAccount;
  readonly protocolVersion: string;
  readonly clientInfo: Implementation | undefined;
  readonly capabilities: JsonObject;
  readonly dispatch: Dispatch;
  /** Milliseconds for the client to answer a question. */
  readonly inputMs: number;
  /** The lowest level of log messages that it wants has changed. */
  readonly onLogLevel: () => void;
  /** Called once, at its end. */
  readonly onClosed: (session: Session, reason: string) => void;
}

/** A session of the older era, over whatever transport. */
export interface Session extends NoticeListener, CallSession {
  readonly id: string;
  readonly account: ClientAccount;
  readonly logLevel: LogLevel | undefined;
  /** Whether nobody waits for it: no stream is open, and no request whose answer could be told. */
  readonly isIdle: boolean;
  /** When something last happened, in milliseconds. */
  readonly usedAt: number;
  /** A message for it has arrived, which is handled later. */
  touch(): void;
  /** Dispatches a request; what relates to it, and the response, goes to the outlet. */
  request(request: RpcRequest, outlet: Outlet, headers?: RequestHeaders): void;
  notified(notification: RpcNotification): void;
  responded(response: RpcResponse): void;
  /** Where messages go that relate to no request. The one before is ended. */
  setStream(outlet: Outlet): void;
  /** The stream has ended. */
  loseStream(outlet: Outlet): void;
  /** Ends it: calls in flight are cancelled. */
  close(reason: string): void;
}

const mostVisits = 100;
/** How many resources one session may watch. */
const maxWatched = 1000;
/** How much a client may say of itself, in characters: that is kept for as long as the session lives. */
const longestInit = 16_384;

interface Watched {
  readonly resource: WatchedResource;
  /** Whether the server was asked for it, and did not refuse. */
  readonly isSubscribed: Promise<boolean>;
}

export function createSession(init: SessionInit): Session {
  const { id, account, capabilities, dispatch, inputMs } = init;
  const questions = createQuestions(inputMs);
  const watched = new Map<string, Watched>();
  const visits = new Set<string>();
  let stream: Outlet | undefined;
  let logLevel: LogLevel | undefined;
  let usedAt = Date.now();
  let isClosed = false;

  const tellUnasked = (method: string, params?: JsonObject): void => {
    if (stream?.isOpen)
      stream.send(params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params });
  };
  /** The stream of the request, or the one for everything else where that is gone. */
  const reach = (outlet: Outlet): Outlet | undefined => (outlet.isOpen ? outlet : stream?.isOpen ? stream : undefined);

  const ask: CallHost["ask"] = (call, method, params, signal) => {
    if (params?.mode === "url" && typeof params.elicitationId === "string") {
      visits.add(params.elicitationId);
      const [oldest] = visits;
      if (visits.size > mostVisits && oldest !== undefined) visits.delete(oldest);
    }
    return questions.ask(method, params, call, signal, (message) => {
      const open = reach(call.outlet);
      if (open === undefined) throw new RpcError(rpcCodes.failed, "The client that made the call is gone.");
      open.send(message);
    });
  };

  /** Its call of this id that is in flight. */
  const find = (requestId: RequestId): ClientCall | undefined => {
    for (const call of account.calls) if (call.id === requestId) return call;
    return undefined;
  };
  const isAwaited = (): boolean => {
    for (const call of account.calls) if (call instanceof SessionCall && call.outlet.isOpen) return true;
    return false;
  };

  const session: Session = {
    id,
    shortId: id.slice(0, 8),
    account,
    protocolVersion: init.protocolVersion,
    get logLevel() {
      return logLevel;
    },
    get isIdle() {
      return !stream?.isOpen && !isAwaited();
    },
    get usedAt() {
      return usedAt;
    },
    touch() {
      usedAt = Date.now();
    },
    setLogLevel(level) {
      logLevel = level;
      init.onLogLevel();
    },
    request(request, outlet, headers) {
      usedAt = Date.now();
      if (find(request.id) !== undefined) {
        const error = { code: rpcCodes.invalidRequest, message: "A request of this id is in flight already." };
        outlet.respond({ jsonrpc: "2.0", id: request.id, error }, 200);
        return;
      }
      dispatch(new SessionCall(host, request, outlet, headers));
    },
    notified({ method, params }) {
      usedAt = Date.now();
      if (method === "notifications/cancelled" && isId(params?.requestId)) find(params.requestId)?.cancel();
    },
    responded(response) {
      usedAt = Date.now();
      questions.responded(response);
    },
    setStream(outlet) {
      usedAt = Date.now();
      const before = stream;
      stream = outlet;
      before?.end();
    },
    loseStream(outlet) {
      if (stream !== outlet) return;
      stream = undefined;
      usedAt = Date.now();
    },
    async watch(uri, resource) {
      if (watched.has(uri)) return;
      if (watched.size >= maxWatched) {
        const message = `A session watches at most ${maxWatched} resources. Unsubscribe from some first.`;
        throw new RpcError(rpcCodes.invalidParams, message);
      }
      const subscribed = resource.subscribe();
      const isSubscribed = subscribed.then(
        () => true,
        () => false,
      );
      const entry: Watched = { resource, isSubscribed };
      watched.set(uri, entry);
      try {
        await subscribed;
      } catch (error) {
        if (watched.get(uri) === entry) watched.delete(uri);
        throw error;
      }
      if (isClosed) session.unwatch(uri);
    },
    unwatch(uri) {
      const entry = watched.get(uri);
      if (entry === undefined) return;
      watched.delete(uri);
      // A subscription that was refused has ended already: to end it again would take it from another client.
      void entry.isSubscribed.then((is) => is && entry.resource.unsubscribe());
    },
    onListChanged(list) {
      tellUnasked(`notifications/${list}/list_changed`);
    },
    onResourceUpdated(server, changed) {
      for (const [uri, { resource }] of watched) {
        if (resource.uri === changed && resource.server === server)
          tellUnasked("notifications/resources/updated", { uri });
      }
    },
    onLog(level, params) {
      if (logLevel === undefined || isLevelAtLeast(level, logLevel)) tellUnasked("notifications/message", params);
    },
    onVisitCompleted(elicitationId, params) {
      if (visits.delete(elicitationId)) tellUnasked("notifications/elicitation/complete", params);
    },
    close(reason) {
      if (isClosed) return;
      isClosed = true;
      for (const uri of [...watched.keys()]) session.unwatch(uri);
      for (const call of account.calls) call.cancel();
      questions.close("The session of the client ended.");
      stream?.end();
      stream = undefined;
      init.onClosed(session, reason);
    },
  };
  const host: CallHost = {
    session,
    capabilities,
    reach,
    ask,
    settled(call, outcome) {
      usedAt = Date.now();
      // A client that cancels a request wants no response to it.
      if (call.isCancelledByCaller) call.outlet.end();
      else call.outlet.respond(responseOf(call.id, outcome), statusOf(outcome));
    },
  };
  return session;
}

/** The response to a request. */
export function responseOf(id: RequestId, { result, fault }: CallOutcome): RpcResponse {
  return fault === undefined ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error: fault };
}

/** In the older era only a request beyond the limits of a client has another status than 200. */
function statusOf(outcome: CallOutcome): number {
  return outcome.fault !== undefined && outcome.status === 429 ? 429 : 200;
}

/** What a client says of itself in `initialize`. */
export function readInitialize(
  params: JsonObject | undefined,
): Pick<SessionInit, "capabilities" | "clientInfo"> & { readonly requested: string } {
  const { protocolVersion, capabilities, clientInfo } = params ?? {};
  if (typeof protocolVersion !== "string")
    throw new RpcError(rpcCodes.invalidParams, "initialize needs protocolVersion, a text.");
  const named = isObject(clientInfo) && typeof clientInfo.name === "string";
  const init = {
    requested: protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: named ? { name: String(clientInfo.name), version: String(clientInfo.version ?? "") } : undefined,
  };
  if (JSON.stringify(init).length > longestInit) {
    const message = `The version, the capabilities and the name in initialize take more than ${longestInit} characters. Say less.`;
    throw new RpcError(rpcCodes.invalidParams, message);
  }
  return init;
}
