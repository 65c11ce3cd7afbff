import type { MessageOrigin } from "@wirescope/tool-server";
import { isObject, type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { ClientCall } from "../client-call.js";
import type { CallsInFlight } from "./server-calls.js";

/** A request of a legacy server to a client, such as an elicitation. */
export interface ServerRequest {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly origin: Pick<MessageOrigin, "call" | "signal">;
}

/** The capabilities that the gateway declares to servers. Whether a client has one is checked for each request. */
export const offeredCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { context: {}, tools: {} },
  roots: {},
} as const;

const forwardedMethods: ReadonlySet<string> = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

/**
 * Forwards a request of a server to the client whose call it belongs to. Over HTTP that is the call on whose stream it was sent.
 * On a shared connection it is the only call in flight whose client supports the request. Rejects with an RpcError for the server
 * if there is no such call.
 */
export async function forwardServerRequest(
  server: string,
  request: ServerRequest,
  calls: CallsInFlight,
): Promise<JsonObject> {
  const { method, params, origin } = request;
  if (!forwardedMethods.has(method)) {
    throw new RpcError(rpcCodes.methodNotFound, `The gateway does not forward ${method}.`);
  }
  const call = callOf(server, request, calls);
  call.openQuestions += 1;
  try {
    return await call.ask(method, params, origin.signal);
  } finally {
    call.openQuestions -= 1;
    call.activeAt = Date.now();
  }
}

function callOf(server: string, { method, params, origin }: ServerRequest, calls: CallsInFlight): ClientCall {
  const isCapable = ({ capabilities }: ClientCall): boolean => supportsRequest(capabilities, method, params);
  const related = origin.call;
  if (related !== undefined) {
    // It must not go to another client that happens to have a call in flight.
    if (!(related instanceof ClientCall) || !calls.has(related))
      throw new RpcError(rpcCodes.failed, "The call that this request belongs to has ended.");
    if (isCapable(related)) return related;
    throw new RpcError(rpcCodes.methodNotFound, `The client that made this call does not support ${method}.`);
  }
  const capable = [...calls].filter(isCapable);
  const [only] = capable;
  if (only !== undefined && capable.length === 1) return only;
  const subject = `${method} of server ${JSON.stringify(server)}`;
  throw only === undefined
    ? new RpcError(
        rpcCodes.methodNotFound,
        `${subject} cannot be forwarded: no client with a call in flight supports it.`,
      )
    : new RpcError(
        rpcCodes.failed,
        `${subject} cannot be forwarded: ${capable.length} calls are in flight, and on this connection nothing identifies ` +
          "the one that it belongs to. Call again when no other call is in flight, or connect the server by HTTP.",
      );
}

/** Whether a client with these capabilities can handle a request of a server. */
export function supportsRequest(capabilities: JsonObject, method: string, params: JsonObject | undefined): boolean {
  const { elicitation, sampling, roots } = capabilities;
  switch (method) {
    case "elicitation/create":
      if (!isObject(elicitation)) return false;
      // A client that names no mode supports forms, the original mode.
      return params?.mode === "url" ? "url" in elicitation : "form" in elicitation || !("url" in elicitation);
    case "sampling/createMessage":
      if (!isObject(sampling)) return false;
      return (params?.tools === undefined && params?.toolChoice === undefined) || "tools" in sampling;
    case "roots/list":
      return isObject(roots);
    default:
      return false;
  }
}

/** The capabilities of a client that are forwarded to a modern server with each request. */
export function forwardedCapabilities({ elicitation, sampling, roots }: JsonObject): JsonObject {
  return {
    ...(isObject(elicitation) ? { elicitation } : {}),
    ...(isObject(sampling) ? { sampling } : {}),
    ...(isObject(roots) ? { roots } : {}),
  };
}
