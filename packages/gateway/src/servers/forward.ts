import { randomUUID } from "node:crypto";
import { type Connection, ToolServerError } from "@wirescope/tool-server";
import {
  type Era,
  isObject,
  metaKeys,
  metaOf,
  RpcError,
  type RpcObject,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { CallObserver } from "../call-observer.js";
import type { ClientCall } from "../client-call.js";
import { gatewayMetaKeys } from "../extension-messages.js";
import { capabilityMissing } from "../task-states.js";
import type { TraceFields } from "../trace-fields.js";
import { forwardedCapabilities, requiredCapabilities, supportsRequest, withoutMeta } from "./server-requests.js";

/** A request that is forwarded to a server. */
export interface Forwarded {
  readonly method: string;
  /** With the server's names and URIs, and the client's `_meta`. */
  readonly params: RpcObject;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How many times a server may request input during one call. */
const maxRounds = 10;
/** Milliseconds until a request is sent again if its result requires input but contains no input request. */
const repeatPauseMs = 250;

/**
 * Forwards a call to a server. If the result requires input, a modern client receives that result; a legacy client is asked, and
 * the request is sent again.
 */
export async function forward(
  connection: Connection,
  call: ClientCall,
  { method, params, headers }: Forwarded,
  observers: Pick<Required<CallObserver>, "forwarding">,
): Promise<RpcObject> {
  let input: RpcObject | undefined;
  let serverEra = "modern" as Era;
  for (let round = 0; ; round += 1) {
    const observer = observers.forwarding(call, { connection, method, params });
    const fields = observer === undefined ? call.traceFields : observer.fields;
    let result: RpcObject;
    try {
      result = await connection.send(call, {
        method,
        params: input === undefined ? params : { ...params, ...input },
        metaFor: ({ era }) => metaFor(params, era, call, fields),
        onAttempt({ era }) {
          serverEra = era;
          observer?.attempted();
        },
        headers: fields === undefined ? headers : { ...headers, ...fields },
      });
    } catch (error) {
      observer?.failed(error);
      throw call.missingCapabilities !== undefined && ToolServerError.is(error, "CALL_REFUSED")
        ? capabilityMissing(call.missingCapabilities)
        : error;
    }
    observer?.succeeded(result);
    // The server requested something that the client does not support, and failed without it.
    if (result.isError === true && call.missingCapabilities !== undefined)
      throw capabilityMissing(call.missingCapabilities);
    if (result.resultType === undefined) return result;
    // Legacy results do not have this field. A task is a result for the caller of this function.
    const type = serverEra === "legacy" ? undefined : result.resultType;
    if (type === "task" || (call.era === "modern" && type !== undefined)) return result;
    if (type !== "input_required") {
      const { resultType: _, ...rest } = result;
      return serverEra === "modern" ? legacyResult(method, rest) : rest;
    }
    if (round === maxRounds) {
      const message = `Server ${JSON.stringify(call.route?.server)} requested input ${maxRounds} times, the maximum for one call.`;
      throw new RpcError(rpcCodes.failed, message);
    }
    input = await inputOf(result, call);
  }
}

/** The result of a modern server without the fields of its era that a legacy client does not know. */
function legacyResult(method: string, { _meta, ...result }: RpcObject): RpcObject {
  const { ttlMs, cacheScope, ...uncached } = result;
  // In other results, such as the state of a task, these names have another meaning.
  const rest = method === "resources/read" ? uncached : result;
  if (!isObject(_meta)) return rest;
  const { [metaKeys.serverInfo]: _, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? rest : { _meta: meta, ...rest };
}

/** The responses of a legacy client to the input requests in a result. */
async function inputOf({ inputRequests, requestState }: RpcObject, call: ClientCall): Promise<RpcObject> {
  const requests = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (requests.length === 0) await pause(call, repeatPauseMs);
  call.openRequests += 1;
  try {
    const inputResponses = await askClient(requests, call);
    return {
      ...(requests.length === 0 ? {} : { inputResponses }),
      ...(typeof requestState === "string" ? { requestState } : {}),
    };
  } finally {
    call.openRequests -= 1;
    call.activeAt = performance.now();
  }
}

/** Waits during a call. Rejects if it is cancelled meanwhile: with its reason, or with an RpcError if it has none. */
export function pause(call: ClientCall, delayMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onCancel = (): void => {
      clearTimeout(timer);
      reject(call.reason ?? new RpcError(rpcCodes.failed, "The client cancelled the call."));
    };
    const timer = setTimeout(() => {
      call.removeEventListener("abort", onCancel);
      resolve();
    }, delayMs);
    call.addEventListener("abort", onCancel);
  });
}

/**
 * Sends the input requests of a modern server, by key, to a legacy client. Resolves with the responses by key. Rejects with an RpcError
 * if the client does not support a request.
 */
export async function askClient(
  requests: readonly (readonly [string, unknown])[],
  call: ClientCall,
): Promise<RpcObject> {
  return Object.fromEntries(
    await Promise.all(requests.map(async ([key, request]) => [key, await askOne(request, call)] as const)),
  );
}

async function askOne(request: unknown, call: ClientCall): Promise<RpcObject> {
  const { method, params } = isObject(request) ? request : {};
  const sent = isObject(params) ? withoutMeta(params) : undefined;
  const required = typeof method === "string" ? requiredCapabilities(method, sent) : undefined;
  if (typeof method !== "string" || !supportsRequest(call.capabilities, method, sent)) {
    if (required !== undefined) throw capabilityMissing(required);
    throw new RpcError(rpcCodes.failed, `The server requested ${String(method)}, which this client does not support.`);
  }
  // Legacy clients need an id for a URL elicitation.
  const needsId = method === "elicitation/create" && sent?.mode === "url" && sent.elicitationId === undefined;
  return call.ask(method, needsId ? { ...sent, elicitationId: randomUUID() } : sent);
}

/** The `_meta` for the server: that of the parameters without the keys that are addressed to the gateway. */
function metaFor(
  params: RpcObject,
  era: Era,
  call: ClientCall,
  fields: TraceFields | undefined,
): RpcObject | undefined {
  const given = metaOf(params);
  const kept = given === undefined ? [] : Object.entries(given).filter(([key]) => !gatewayMetaKeys.has(key));
  if (era === "legacy" && kept.length === 0 && fields === undefined) return undefined;
  const meta: Record<string, unknown> = Object.fromEntries(kept);
  if (fields !== undefined) Object.assign(meta, fields);
  if (era === "modern") {
    meta[metaKeys.clientCapabilities] = forwardedCapabilities(call);
    if (call.logLevel !== undefined) meta[metaKeys.logLevel] = call.logLevel;
  }
  return meta;
}
