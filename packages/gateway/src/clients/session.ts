import {
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
  TransientMap,
} from "@wirescope/tool-server/rpc";
import type { ResourceRoute } from "../hub/resource-routes.js";
import type { NoticeListener } from "../notices.js";
import type { Caller, ClientAccount } from "./caller.js";
import { type CallerSession, LegacyCaller } from "./legacy-caller.js";
import type { Outlet } from "./outlet.js";
import { isCalledOff, type Outcome, type Perform } from "./perform.js";
import { callIsOver } from "./question-limits.js";
import { createQuestions } from "./questions.js";

/** What a client of the older era said of itself. */
export interface SessionInit {
  readonly id: string;
  readonly account: ClientAccount;
  readonly protocolVersion: string;
  readonly clientInfo: Implementation | undefined;
  readonly capabilities: JsonObject;
  readonly perform: Perform;
  /** Milliseconds for the client to answer a question. */
  readonly inputMs: number;
  /** Called once, at its end. */
  readonly onClosed: (session: Session, reason: string) => void;
}

/** A session of the older era, over whatever transport. */
export interface Session extends NoticeListener {
  readonly id: string;
  /** Enough to tell sessions apart in a log. */
  readonly shortId: string;
  readonly account: ClientAccount;
  readonly protocolVersion: string;
  readonly logLevel: LogLevel | undefined;
  /** Whether nobody waits for it: no stream is open, and no request whose answer could be told. */
  readonly isIdle: boolean;
  /** When something last happened, in milliseconds. */
  readonly usedAt: number;
  setLogLevel(level: LogLevel): void;
  /** Performs a request; what relates to it, and the answer, goes to the outlet. */
  request(request: RpcRequest, outlet: Outlet, headers?: Caller["headers"]): void;
  notified(notification: RpcNotification): void;
  answered(answer: RpcResponse): void;
  /** Where messages go that relate to no request. The one before is ended. */
  setStream(outlet: Outlet): void;
  /** The stream has ended. */
  loseStream(outlet: Outlet): void;
  /** Begins to tell when a resource changes that the client knows by this uri. */
  watch(uri: string, route: ResourceRoute): Promise<void>;
  unwatch(uri: string): void;
  /** Ends it: requests in flight are called off. */
  close(reason: string): void;
}

const mostVisits = 100;
/** How many resources one session may watch. */
const mostWatched = 1000;
/** How much a client may say of itself, in characters: that is kept for as long as the session lives. */
const longestInit = 16_384;

interface Watched extends ResourceRoute {
  /** Whether the server was asked for it, and did not refuse. */
  readonly isWanted: Promise<boolean>;
}

export function createSession(init: SessionInit): Session {
  const { id, account, capabilities, perform, inputMs } = init;
  const inFlight = new TransientMap<RequestId, LegacyCaller>();
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

  const ask: CallerSession["ask"] = ({ outlet, callOff }, method, params, signal) => {
    if (params?.mode === "url" && typeof params.elicitationId === "string") {
      visits.add(params.elicitationId);
      const [oldest] = visits;
      if (visits.size > mostVisits && oldest !== undefined) visits.delete(oldest);
    }
    return questions.ask(method, params, callOff, signal, (message) => {
      const open = reach(outlet);
      if (open === undefined) throw new RpcError(rpcCodes.failed, "The client that made the call is gone.");
      open.send(message);
    });
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
      return !stream?.isOpen && ![...inFlight.values()].some(({ outlet }) => outlet.isOpen);
    },
    get usedAt() {
      return usedAt;
    },
    setLogLevel(level) {
      logLevel = level;
    },
    request(request, outlet, headers) {
      usedAt = Date.now();
      if (inFlight.has(request.id)) {
        const error = { code: rpcCodes.invalidRequest, message: "A request of this id is in flight already." };
        outlet.answer({ jsonrpc: "2.0", id: request.id, error }, 200);
        return;
      }
      const caller = new LegacyCaller(ofCallers, request, outlet, headers);
      inFlight.set(request.id, caller);
      perform(request.method, request.params ?? {}, caller, (outcome) => {
        inFlight.delete(request.id);
        usedAt = Date.now();
        caller.callOff.off(callIsOver);
        // Who calls a request off wants no answer to it.
        if (isCalledOff(caller)) outlet.end();
        else outlet.answer(answerOf(request.id, outcome), statusOf(outcome));
      });
    },
    notified({ method, params }) {
      usedAt = Date.now();
      if (method === "notifications/cancelled" && isId(params?.requestId))
        inFlight.get(params.requestId)?.callOff.off();
    },
    answered(answer) {
      usedAt = Date.now();
      questions.answered(answer);
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
    async watch(uri, route) {
      if (watched.has(uri)) return;
      if (watched.size >= mostWatched) {
        const message = `A session watches at most ${mostWatched} resources. Unsubscribe from some first.`;
        throw new RpcError(rpcCodes.invalidParams, message);
      }
      const wanted = route.upstream.wishes.want(route.uri);
      const entry: Watched = {
        ...route,
        isWanted: wanted.then(
          () => true,
          () => false,
        ),
      };
      watched.set(uri, entry);
      try {
        await wanted;
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
      // What was refused is wanted no more already: to say so again would take it from another client.
      void entry.isWanted.then((isWanted) => {
        if (isWanted) entry.upstream.wishes.wantNoMore(entry.uri);
      });
    },
    onListChanged(list) {
      tellUnasked(`notifications/${list}/list_changed`);
    },
    onResourceUpdated(server, changed) {
      for (const [uri, route] of watched) {
        if (route.uri === changed && route.upstream.name === server)
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
      for (const { callOff } of inFlight.values()) callOff.off();
      questions.close("The session of the client ended.");
      stream?.end();
      stream = undefined;
      init.onClosed(session, reason);
    },
  };
  const ofCallers: CallerSession = { session, capabilities, reach, ask };
  return session;
}

/** The answer of JSON-RPC to a request. */
export function answerOf(id: RequestId, { result, fault }: Outcome): RpcResponse {
  return fault === undefined ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error: fault };
}

/** Only what is beyond the limits of a client is not told with 200 in the older era. */
function statusOf(outcome: Outcome): number {
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
