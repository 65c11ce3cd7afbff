import type { MessageOrigin } from "@wirescope/tool-server";
import { type JsonObject, RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import { ClientCall } from "../client-call.js";
import { canAnswer, isPassedOn } from "./client-capability.js";
import type { CallsInFlight } from "./upstream-calls.js";

/** Something that a server of the older era asks of a client. */
export interface ServerQuestion {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly origin: Pick<MessageOrigin, "call" | "signal">;
}

/**
 * Passes a question of a server on to the client whose call it is about. Over HTTP that is the one on whose stream it came.
 * Else it is clear only where just one call is in flight whose client could answer. Rejects with an RpcError for the server
 * where it is not, or the client cannot.
 */
export async function passOnQuestion(
  server: string,
  question: ServerQuestion,
  calls: CallsInFlight,
): Promise<JsonObject> {
  const { method, params, origin } = question;
  if (!isPassedOn(method)) throw new RpcError(rpcCodes.methodNotFound, `The gateway does not pass on ${method}.`);
  const call = callOf(server, question, calls);
  call.openQuestions += 1;
  try {
    return await call.ask(method, params, origin.signal);
  } finally {
    call.openQuestions -= 1;
    call.activeAt = Date.now();
  }
}

function callOf(server: string, { method, params, origin }: ServerQuestion, calls: CallsInFlight): ClientCall {
  const isCapable = ({ capabilities }: ClientCall): boolean => canAnswer(capabilities, method, params);
  const related = origin.call;
  if (related !== undefined) {
    // Another's question is not for whoever happens to be there.
    if (!(related instanceof ClientCall) || !calls.has(related))
      throw new RpcError(rpcCodes.failed, "The call that this is about is over.");
    if (isCapable(related)) return related;
    throw new RpcError(rpcCodes.methodNotFound, `The client that made this call cannot answer ${method}.`);
  }
  const capable = [...calls].filter(isCapable);
  const [only] = capable;
  if (only !== undefined && capable.length === 1) return only;
  const who = JSON.stringify(server);
  throw only === undefined
    ? new RpcError(
        rpcCodes.methodNotFound,
        `No client is there to answer ${method} for the server ${who}: it is asked only during a call, of the client that made it.`,
      )
    : new RpcError(
        rpcCodes.failed,
        `${method} of the server ${who} cannot be passed on: ${capable.length} calls of clients that could answer are in flight, ` +
          "and over this connection nothing says which one it is for. Call again when no other call is in flight, or reach the server by HTTP.",
      );
}
