import { randomUUID } from "node:crypto";
import type { Connection } from "@wirescope/tool-server";
import {
  type Era,
  isObject,
  type JsonObject,
  metaKeys,
  metaOf,
  RpcError,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { CallObserver } from "../call-observer.js";
import type { ClientCall } from "../client-call.js";
import { type TraceFields, traceKeys } from "../trace-fields.js";
import { canAnswer, passedOnCapabilities } from "./client-capability.js";

/** A request that is forwarded to a server. */
export interface Forwarded {
  readonly method: string;
  /** As the server knows things; with the `_meta` of the client. */
  readonly params: JsonObject;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How often a server may ask for input during one call. */
const maxRounds = 10;
/** How long to wait before a request that was only put off is sent again, in milliseconds. */
const pacingMs = 250;

/**
 * Forwards a call to a server. If the result asks for input, a client of the newer era gets that result; one of the older is asked,
 * and the request sent again.
 */
export async function forward(
  connection: Connection,
  call: ClientCall,
  { method, params, headers }: Forwarded,
  observers: Pick<Required<CallObserver>, "forwarding">,
): Promise<JsonObject> {
  let input: JsonObject | undefined;
  for (let round = 0; ; round += 1) {
    const extra = input;
    const observer = observers.forwarding(call, { connection, method, params });
    const fields = observer === undefined ? call.traceFields : observer.fields;
    let result: JsonObject;
    try {
      result = await connection.send(call, {
        method,
        paramsFor({ era }) {
          observer?.sent();
          return withMeta(extra === undefined ? params : { ...params, ...extra }, era, call, fields);
        },
        headers: fields === undefined ? headers : { ...headers, ...fields },
      });
    } catch (error) {
      observer?.failed(error);
      throw error;
    }
    observer?.succeeded(result);
    if (call.era === "modern" || result.resultType === undefined) return result;
    if (result.resultType !== "input_required") {
      const { resultType: _, ...rest } = result;
      return rest;
    }
    if (round === maxRounds) {
      const message = `The server ${JSON.stringify(call.route?.server)} asked for input ${maxRounds} times.`;
      throw new RpcError(rpcCodes.failed, message);
    }
    input = await inputOf(result, call);
  }
}

/** What a client of the older era says to the questions in a result. */
async function inputOf({ inputRequests, requestState }: JsonObject, call: ClientCall): Promise<JsonObject> {
  const questions = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (questions.length === 0) await new Promise((resolve) => setTimeout(resolve, pacingMs));
  call.openQuestions += 1;
  try {
    const answers = await Promise.all(
      questions.map(async ([key, question]) => [key, await ask(question, call)] as const),
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

async function ask(question: unknown, call: ClientCall): Promise<JsonObject> {
  const { method, params } = isObject(question) ? question : {};
  const asked = isObject(params) ? params : undefined;
  if (typeof method !== "string" || !canAnswer(call.capabilities, method, asked)) {
    throw new RpcError(rpcCodes.failed, `The server asks for ${String(method)}, which this client cannot answer.`);
  }
  // In the older era a visit to a page has an id.
  const isVisit = method === "elicitation/create" && asked?.mode === "url" && asked.elicitationId === undefined;
  return call.ask(method, isVisit ? { ...asked, elicitationId: randomUUID() } : asked);
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
function withMeta(params: JsonObject, era: Era, call: ClientCall, fields: TraceFields | undefined): JsonObject {
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
    meta[metaKeys.clientCapabilities] = passedOnCapabilities(call.capabilities);
    if (call.logLevel !== undefined) meta[metaKeys.logLevel] = call.logLevel;
  }
  // A key that a copy gets afterwards costs ten times as much as the copy: this one stands before it.
  const whole: Record<string, unknown> = { _meta: undefined, ...params };
  whole._meta = meta;
  return whole;
}
