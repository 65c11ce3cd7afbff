import {
  type Envelope,
  errorObjectOf,
  isId,
  isObject,
  jsonLengthOf,
  metaKeys,
  metaOf,
  modernVersions,
  RpcError,
  type RpcObject,
  type RpcRequest,
  rpcCodes,
  statusOf,
} from "@wirescope/tool-server/internal";
import type { ClientAccount, RequestHeaders } from "../client-call.js";
import type { Dispatch } from "../dispatch/dispatch.js";
import { type MergedServer, methodNotFound } from "../dispatch/merged-server.js";
import type { GatewayEvents } from "../events.js";
import type { MessageWriter } from "./message-writer.js";
import type { ParkedCalls } from "./parked-calls.js";
import { type RoundOutcome, StatelessCall } from "./stateless-call.js";

/** Serves requests from modern clients, which have no session. */
export interface StatelessRequests {
  /** Dispatches a request whose envelope was read. Returns a function that cancels it, for when the client disconnects. */
  request(received: StatelessRequest, writer: MessageWriter): () => void;
}

export interface StatelessRequest {
  readonly request: RpcRequest;
  readonly envelope: Envelope;
  readonly account: ClientAccount;
  readonly headers: RequestHeaders | undefined;
}

export interface StatelessRequestsOptions {
  readonly merged: MergedServer;
  readonly dispatch: Dispatch;
  readonly parked: ParkedCalls;
  readonly events: Pick<GatewayEvents, "emit" | "reportDefect">;
}

/** Methods whose results have caching fields. */
const cacheable: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "server/discover",
  "skills/list",
  "skills/get",
  "resources/directory/read",
]);

// Prefixes of `requestState`: for a call that is parked in the gateway, and for a state that a server returned.
const parkedPrefix = "p.";
const serverPrefix = "u.";

export function createStatelessRequests(options: StatelessRequestsOptions): StatelessRequests {
  const { merged, dispatch, parked, events } = options;
  /** Dispatches a call, or finds the one that waits for the input in this request. */
  const dispatchOrResume = ({ request, envelope, account, headers }: StatelessRequest): StatelessCall => {
    const { id, method, params } = request;
    // A client cannot return with input for another subject.
    const subject = JSON.stringify([method, params?.name ?? params?.uri ?? null]);
    const state = params?.requestState;
    if (typeof state !== "string" || !state.startsWith(parkedPrefix)) {
      const { capabilities, logLevel } = envelope;
      const options = { subject, account, capabilities, logLevel, headers };
      const call = new StatelessCall({ id, method, params: restoreState(params ?? {}) }, options);
      dispatch(call);
      return call;
    }
    dispatch.count(account);
    const call = parked.take(state.slice(parkedPrefix.length), account.principal, subject);
    if (call !== undefined) return call;
    throw new RpcError(
      rpcCodes.invalidParams,
      "The requestState is unknown or has expired. Send the request again without it.",
    );
  };

  const respond = (request: RpcRequest, call: StatelessCall, end: RoundOutcome, writer: MessageWriter): void => {
    const { id, method } = request;
    if ("inputRequests" in end) {
      const state = parked.park(call, jsonLengthOf(end.inputRequests) ?? 0);
      if (state === undefined) {
        call.cancel();
        const message = "The gateway has reached its limit of calls that wait for input. Try again later.";
        events.emit({ kind: "refused", limit: "parked-calls", reason: message });
        writer.respond({ jsonrpc: "2.0", id, error: { code: rpcCodes.failed, message } }, 200);
        return;
      }
      const result = {
        resultType: "input_required",
        inputRequests: end.inputRequests,
        requestState: `${parkedPrefix}${state}`,
      };
      writer.respond({ jsonrpc: "2.0", id, result: stamped(result, merged) }, 200);
    } else if (call.isAbandoned) writer.end();
    else if (end.error !== undefined) writer.respond({ jsonrpc: "2.0", id, error: end.error }, end.status);
    else writer.respond({ jsonrpc: "2.0", id, result: modernResult(method, end.result, merged) }, 200);
  };

  return {
    request(received, writer) {
      const { request, account } = received;
      const { method, id, params } = request;
      let call: StatelessCall;
      try {
        if (method === "server/discover") {
          dispatch.count(account);
          writer.respond({ jsonrpc: "2.0", id, result: modernResult(method, discover(merged), merged) }, 200);
          return () => {};
        }
        if (!merged.mayHave(method, "modern")) {
          dispatch.count(account);
          throw methodNotFound(method);
        }
        call = dispatchOrResume(received);
      } catch (error) {
        writer.respond({ jsonrpc: "2.0", id, error: errorObjectOf(error) }, statusOf(error));
        return () => {};
      }
      call.receiveInput(params?.inputResponses);
      const token = metaOf(params)?.progressToken;
      let isOver = false;
      const serve = async (): Promise<void> => {
        const end = await call.runRound(writer, isId(token) ? token : undefined);
        // A client that disconnected before it received the input request does not return with a response.
        if (isOver && "inputRequests" in end) return;
        isOver = true;
        respond(request, call, end, writer);
      };
      serve()
        .catch((error: unknown) => {
          events.reportDefect(error);
          writer.respond({ jsonrpc: "2.0", id, error: errorObjectOf(undefined) }, 500);
        })
        .catch(events.reportDefect);
      return () => {
        if (isOver) return;
        isOver = true;
        call.cancel();
      };
    },
  };
}

function discover(merged: MergedServer): RpcObject {
  return {
    supportedVersions: [...modernVersions],
    capabilities: merged.capabilities("modern"),
    instructions: merged.instructions(),
  };
}

/** A result in the form that modern clients expect. */
function modernResult(method: string, result: RpcObject, merged: MergedServer): RpcObject {
  if (result.resultType === "input_required") {
    const { requestState } = result;
    return stamped(
      typeof requestState === "string" ? { ...result, requestState: `${serverPrefix}${requestState}` } : result,
      merged,
    );
  }
  const meta = isObject(result._meta) ? result._meta : undefined;
  // Adding a key to a copy costs ten times as much as the copy, so the keys are created first.
  const whole: Record<string, unknown> = { resultType: undefined, _meta: undefined, ...result };
  // Unknown result types are forwarded unchanged.
  whole.resultType = typeof result.resultType === "string" ? result.resultType : "complete";
  if (cacheable.has(method)) {
    if (!(Number.isSafeInteger(whole.ttlMs) && Number(whole.ttlMs) >= 0)) whole.ttlMs = 0;
    if (whole.cacheScope !== "public" && whole.cacheScope !== "private") whole.cacheScope = "private";
  }
  if (meta === undefined) whole._meta = { [metaKeys.serverInfo]: merged.info };
  else if (!(metaKeys.serverInfo in meta)) whole._meta = { ...meta, [metaKeys.serverInfo]: merged.info };
  return whole;
}

/** Adds the server info if it is missing. */
function stamped(result: RpcObject, { info }: MergedServer): RpcObject {
  const meta = isObject(result._meta) ? result._meta : {};
  return metaKeys.serverInfo in meta ? result : { ...result, _meta: { ...meta, [metaKeys.serverInfo]: info } };
}

/** The parameters for the server, with the state that it returned. */
function restoreState(params: RpcObject): RpcObject {
  const { requestState } = params;
  if (typeof requestState !== "string" || !requestState.startsWith(serverPrefix)) return params;
  return { ...params, requestState: requestState.slice(serverPrefix.length) };
}
