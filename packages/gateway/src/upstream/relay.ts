import { randomUUID } from "node:crypto";
import type { Connection } from "@wirescope/tool-server";
import { type Era, isObject, type JsonObject, metaKeys, metaOf, RpcError, rpcCodes } from "@wirescope/tool-server/rpc";
import type { Caller } from "../clients/caller.js";
import { type TraceFields, traceKeys } from "../telemetry/trace-fields.js";
import { canAnswer, passedOnCapabilities } from "./client-capability.js";
import type { UpstreamCall } from "./upstream-call.js";

/** A request that goes on to a server. */
export interface Relayed {
  readonly method: string;
  /** As the server knows things; with the `_meta` of the client. */
  readonly params: JsonObject;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What is made of the result. Default: nothing. Here, for to wait for the result would cost every call another promise. */
  readonly finish?: ((result: JsonObject) => JsonObject) | undefined;
}

/** How often a server may ask for input during one call. */
const mostRounds = 10;
/** How long to wait before a request that only was put off is made again, in milliseconds. */
const pacingMs = 250;

/**
 * Passes a request on to a server, and what the server says of it meanwhile back to the client. Where the server asks for
 * input in its result, a client of the newer era gets that result; one of the older is asked, and the request made again.
 *
 * `onEnd` is called once it is over, however it ended: a function around this one that waits for it would cost every call a promise.
 */
export async function relay(
  to: Connection | Promise<Connection>,
  { method, params, headers, finish = unchanged }: Relayed,
  call: UpstreamCall,
  onEnd: (call: UpstreamCall) => void,
): Promise<JsonObject> {
  const { caller } = call;
  try {
    const connection = to instanceof Promise ? await to : to;
    let more: JsonObject | undefined;
    for (let round = 0; ; round += 1) {
      const extra = more;
      const trace = caller.story.trace?.ask({ connection, method, params });
      const fields = trace === undefined ? caller.story.carried : trace.fields;
      const onOff = (reason: Error | undefined): void => call.cancel(reason);
      caller.callOff.onOff(onOff);
      const sent = connection.send(call, {
        method,
        paramsFor({ era }) {
          trace?.sent();
          return withMeta(extra === undefined ? params : { ...params, ...extra }, era, caller, fields);
        },
        headers: fields === undefined ? headers : { ...headers, ...fields },
      });
      let result: JsonObject;
      try {
        result = await sent;
        trace?.answered(result);
      } catch (error) {
        trace?.failed(error);
        throw error;
      } finally {
        caller.callOff.forget(onOff);
      }
      if (caller.era === "modern" || result.resultType === undefined) return finish(result);
      if (result.resultType !== "input_required") {
        const { resultType: _, ...rest } = result;
        return finish(rest);
      }
      if (round === mostRounds) {
        const message = `The server ${JSON.stringify(call.server)} asked for input ${mostRounds} times.`;
        throw new RpcError(rpcCodes.failed, message);
      }
      more = await inputOf(result, call);
    }
  } catch (error) {
    // A question to the client that is called off only says that it is.
    throw caller.callOff.reason ?? error;
  } finally {
    onEnd(call);
  }
}

const unchanged = (result: JsonObject): JsonObject => result;

/** What a client of the older era says to the questions in a result. */
async function inputOf({ inputRequests, requestState }: JsonObject, call: UpstreamCall): Promise<JsonObject> {
  const questions = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (questions.length === 0) await new Promise((resolve) => setTimeout(resolve, pacingMs));
  call.openQuestions += 1;
  try {
    const answers = await Promise.all(
      questions.map(async ([key, question]) => [key, await ask(question, call.caller)] as const),
    );
    return {
      ...(answers.length === 0 ? {} : { inputResponses: Object.fromEntries(answers) }),
      ...(typeof requestState === "string" ? { requestState } : {}),
    };
  } finally {
    call.openQuestions -= 1;
    call.activeAt = Date.now();
  }
}

async function ask(question: unknown, caller: Caller): Promise<JsonObject> {
  const { method, params } = isObject(question) ? question : {};
  const asked = isObject(params) ? params : undefined;
  if (typeof method !== "string" || !canAnswer(caller.capabilities, method, asked)) {
    throw new RpcError(rpcCodes.failed, `The server asks for ${String(method)}, which this client cannot answer.`);
  }
  // In the older era a visit to a page has an id.
  const isVisit = method === "elicitation/create" && asked?.mode === "url" && asked.elicitationId === undefined;
  return caller.ask(method, isVisit ? { ...asked, elicitationId: randomUUID() } : asked);
}

const ownKeys: ReadonlySet<string> = new Set([
  "progressToken",
  ...traceKeys,
  metaKeys.protocolVersion,
  metaKeys.clientInfo,
  metaKeys.clientCapabilities,
  metaKeys.logLevel,
  metaKeys.subscriptionId,
]);

/** Parameters with the `_meta` that goes on: what the client says for the server, not what it says to the gateway. */
function withMeta(params: JsonObject, era: Era, caller: Caller, fields: TraceFields | undefined): JsonObject {
  const given = metaOf(params);
  const kept = given === undefined ? [] : Object.entries(given).filter(([key]) => !ownKeys.has(key));
  if (era === "legacy" && kept.length === 0 && fields === undefined) {
    if (params._meta === undefined) return params;
    const { _meta, ...rest } = params;
    return rest;
  }
  const meta: Record<string, unknown> = Object.fromEntries(kept);
  if (fields !== undefined) Object.assign(meta, fields);
  if (era === "modern") {
    meta[metaKeys.clientCapabilities] = passedOnCapabilities(caller.capabilities);
    if (caller.logLevel !== undefined) meta[metaKeys.logLevel] = caller.logLevel;
  }
  // A key that a copy gets afterwards costs ten times as much as the copy: this one stands before it.
  const whole: Record<string, unknown> = { _meta: undefined, ...params };
  whole._meta = meta;
  return whole;
}
