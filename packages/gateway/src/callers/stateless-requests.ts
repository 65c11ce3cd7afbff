import {
  type CallOutcome,
  type Envelope,
  faultOf,
  isId,
  isObject,
  type JsonObject,
  jsonLengthOf,
  metaKeys,
  metaOf,
  modernVersions,
  RpcError,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { ClientAccount, RequestHeaders } from "../client-call.js";
import type { Dispatch } from "../dispatch/dispatch.js";
import type { Hub } from "../dispatch/hub.js";
import { methodNotFound } from "../dispatch/hub.js";
import type { Outlet } from "./outlet.js";
import type { ParkedCalls } from "./parked-calls.js";
import { type Questions, StatelessCall } from "./stateless-call.js";

/** Serves requests of the newer era, each by itself. */
export interface StatelessRequests {
  /** Dispatches a request whose envelope was read. Returns how to cancel it, when the client goes away. */
  request(received: StatelessRequest, outlet: Outlet): () => void;
}

export interface StatelessRequest {
  readonly request: RpcRequest;
  readonly envelope: Envelope;
  readonly account: ClientAccount;
  readonly headers: RequestHeaders | undefined;
}

export interface StatelessRequestsOptions {
  readonly hub: Hub;
  readonly dispatch: Dispatch;
  readonly parked: ParkedCalls;
  readonly onDefect: (error: unknown) => void;
}

/** Methods whose results say how long they may be cached. */
const cacheable: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "server/discover",
]);

// Whose state it is that a client returns with: of a call that waits here, or one of a server behind.
const [ours, theirs] = ["p.", "u."];

export function createStatelessRequests(options: StatelessRequestsOptions): StatelessRequests {
  const { hub, dispatch, parked, onDefect } = options;
  const callOf = ({ request, envelope, account, headers }: StatelessRequest): StatelessCall => {
    const { id, method, params } = request;
    const subject = subjectOf(request);
    const state = params?.requestState;
    if (typeof state !== "string" || !state.startsWith(ours)) {
      const { capabilities, logLevel } = envelope;
      const options = { subject, account, capabilities, logLevel, headers };
      const call = new StatelessCall({ id, method, params: ownParams(params ?? {}) }, options);
      dispatch(call);
      return call;
    }
    const call = parked.take(state.slice(ours.length), account.principal, subject);
    if (call !== undefined) return call;
    throw new RpcError(
      rpcCodes.invalidParams,
      "The requestState is unknown, or has expired. Send the request again, without it.",
    );
  };

  const respond = (request: RpcRequest, call: StatelessCall, end: CallOutcome | Questions, outlet: Outlet): void => {
    const { id, method } = request;
    if ("questions" in end) {
      const state = parked.park(call, jsonLengthOf(end.questions) ?? 0);
      if (state === undefined) {
        call.cancel();
        const message = "Too many calls wait for the input of their clients. Try again later.";
        outlet.respond({ jsonrpc: "2.0", id, error: { code: rpcCodes.failed, message } }, 200);
        return;
      }
      const result = { resultType: "input_required", inputRequests: end.questions, requestState: `${ours}${state}` };
      outlet.respond({ jsonrpc: "2.0", id, result: stamped(result, hub) }, 200);
    } else if (call.isCancelledByCaller) outlet.end();
    else if (end.fault !== undefined) outlet.respond({ jsonrpc: "2.0", id, error: end.fault }, end.status);
    else outlet.respond({ jsonrpc: "2.0", id, result: modernResult(method, end.result, hub) }, 200);
  };

  return {
    request(received, outlet) {
      const { request } = received;
      const { method, id, params } = request;
      if (method === "server/discover") {
        outlet.respond({ jsonrpc: "2.0", id, result: modernResult(method, discover(hub), hub) }, 200);
        return () => {};
      }
      let call: StatelessCall;
      try {
        if (!hub.has(method, "modern")) throw methodNotFound(method);
        call = callOf(received);
      } catch (error) {
        const status = error instanceof RpcError ? error.status : 200;
        outlet.respond({ jsonrpc: "2.0", id, error: faultOf(error) }, status);
        return () => {};
      }
      let isOver = false;
      call.answer(params?.inputResponses);
      const token = metaOf(params)?.progressToken;
      call.leg(outlet, isId(token) ? token : undefined, (end) => {
        // A client that went away while a question was about to be sent does not return for it.
        if (isOver && "questions" in end) return;
        isOver = true;
        try {
          respond(request, call, end, outlet);
        } catch (error) {
          onDefect(error);
        }
      });
      return () => {
        if (isOver) return;
        isOver = true;
        call.cancel();
      };
    },
  };
}

/** What the gateway is, to those who ask before anything else. */
function discover(hub: Hub): JsonObject {
  return {
    supportedVersions: [...modernVersions],
    capabilities: hub.capabilities,
    instructions: hub.instructions(),
  };
}

/** A result as the newer era has it. */
function modernResult(method: string, result: JsonObject, hub: Hub): JsonObject {
  if (result.resultType === "input_required") {
    const { requestState } = result;
    return stamped(
      typeof requestState === "string" ? { ...result, requestState: `${theirs}${requestState}` } : result,
      hub,
    );
  }
  const meta = isObject(result._meta) ? result._meta : undefined;
  // Keys that a copy gets afterwards cost ten times as much as the copy: these stand before it.
  const whole: Record<string, unknown> = { resultType: undefined, _meta: undefined, ...result };
  whole.resultType = "complete";
  if (cacheable.has(method)) {
    if (!(Number.isSafeInteger(whole.ttlMs) && Number(whole.ttlMs) >= 0)) whole.ttlMs = 0;
    if (whole.cacheScope !== "public" && whole.cacheScope !== "private") whole.cacheScope = "private";
  }
  if (meta === undefined) whole._meta = { [metaKeys.serverInfo]: hub.info };
  else if (!(metaKeys.serverInfo in meta)) whole._meta = { ...meta, [metaKeys.serverInfo]: hub.info };
  return whole;
}

/** Says who answers, where nobody does yet. */
function stamped(result: JsonObject, { info }: Hub): JsonObject {
  const meta = isObject(result._meta) ? result._meta : {};
  return metaKeys.serverInfo in meta ? result : { ...result, _meta: { ...meta, [metaKeys.serverInfo]: info } };
}

/** Parameters as the server gets them: a state of its own is as it gave it. */
function ownParams(params: JsonObject): JsonObject {
  const { requestState } = params;
  if (typeof requestState !== "string" || !requestState.startsWith(theirs)) return params;
  return { ...params, requestState: requestState.slice(theirs.length) };
}

/** What a request is about: who comes back with input must come back for the same. */
function subjectOf({ method, params }: RpcRequest): string {
  return JSON.stringify([method, params?.name ?? params?.uri ?? null]);
}
