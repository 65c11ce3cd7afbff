import {
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
} from "@wirescope/tool-server/rpc";
import type { Hub } from "../hub/hub.js";
import { methodNotFound } from "../hub/hub.js";
import type { Caller, ClientAccount } from "./caller.js";
import { createModernCall, type ModernCall, type Questions } from "./modern-call.js";
import type { Outlet } from "./outlet.js";
import type { ParkedCalls } from "./parked-calls.js";
import { isCalledOff, type Outcome, type Perform } from "./perform.js";

/** Serves requests of the newer era, each for itself. */
export interface ModernRequests {
  /** Performs a request whose envelope was read. Returns how to call it off, as a client does that goes away. */
  request(asked: ModernRequest, outlet: Outlet): () => void;
}

export interface ModernRequest {
  readonly request: RpcRequest;
  readonly envelope: Envelope;
  readonly account: ClientAccount;
  readonly headers: Caller["headers"];
}

export interface ModernRequestsOptions {
  readonly hub: Hub;
  readonly perform: Perform;
  readonly parked: ParkedCalls;
}

/** Methods whose results say how long they may be kept. */
const cacheable: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "server/discover",
]);

// Whose state it is that a client comes back with: a call that waits here, or one that a server behind keeps in its own words.
const [ours, theirs] = ["p.", "u."];

export function createModernRequests({ hub, perform, parked }: ModernRequestsOptions): ModernRequests {
  const begin = (asked: ModernRequest): ModernCall => {
    const { request, envelope, account, headers } = asked;
    const { method, id } = request;
    const params = ownParams(request.params ?? {});
    const { capabilities, logLevel } = envelope;
    return createModernCall({
      subject: subjectOf(request),
      id,
      account,
      capabilities,
      logLevel,
      headers,
      perform: (caller, done) => perform(method, params, caller, done),
    });
  };

  const callOf = (asked: ModernRequest): ModernCall => {
    const state = asked.request.params?.requestState;
    if (typeof state !== "string" || !state.startsWith(ours)) return begin(asked);
    const call = parked.take(state.slice(ours.length), asked.account.principal, subjectOf(asked.request));
    if (call !== undefined) return call;
    throw new RpcError(
      rpcCodes.invalidParams,
      "The requestState is not known, or not any more. Make the request anew, without it.",
    );
  };

  const finish = (request: RpcRequest, call: ModernCall, outcome: Outcome | Questions, outlet: Outlet): void => {
    const { id, method } = request;
    if ("questions" in outcome) {
      const state = parked.park(call, jsonLengthOf(outcome.questions) ?? 0);
      if (state === undefined) {
        call.callOff();
        const message = "Too many calls wait for the input of their clients. Try again later.";
        outlet.answer({ jsonrpc: "2.0", id, error: { code: rpcCodes.failed, message } }, 200);
        return;
      }
      const result = {
        resultType: "input_required",
        inputRequests: outcome.questions,
        requestState: `${ours}${state}`,
      };
      outlet.answer({ jsonrpc: "2.0", id, result: stamped(result, hub) }, 200);
    } else if (isCalledOff(call.caller)) outlet.end();
    else if (outcome.fault !== undefined) outlet.answer({ jsonrpc: "2.0", id, error: outcome.fault }, outcome.status);
    else outlet.answer({ jsonrpc: "2.0", id, result: modernResult(method, outcome.result, hub) }, 200);
  };

  return {
    request(asked, outlet) {
      const { request } = asked;
      const { method, id, params } = request;
      if (method === "server/discover") {
        outlet.answer({ jsonrpc: "2.0", id, result: modernResult(method, discover(hub), hub) }, 200);
        return () => {};
      }
      let call: ModernCall;
      try {
        if (!hub.has(method, "modern")) throw methodNotFound(method);
        call = callOf(asked);
      } catch (error) {
        const status = error instanceof RpcError ? error.status : 200;
        outlet.answer({ jsonrpc: "2.0", id, error: faultOf(error) }, status);
        return () => {};
      }
      let isOver = false;
      call.answer(params?.inputResponses);
      const token = metaOf(params)?.progressToken;
      call.leg(outlet, isId(token) ? token : undefined, (came) => {
        // Who went away while a question was about to be told does not come back for it.
        if (isOver && "questions" in came) return;
        isOver = true;
        finish(request, call, came, outlet);
      });
      return () => {
        if (isOver) return;
        isOver = true;
        call.callOff();
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
