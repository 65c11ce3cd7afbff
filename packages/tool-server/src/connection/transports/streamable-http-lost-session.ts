import type { ToolServerError } from "../../errors.js";
import { rpcCodes } from "../rpc/json-rpc.js";
import { readUnexpected, rpcErrorIn, sessionLost, type UnexpectedResponse } from "./response-failures.js";
import { type HttpSession, messageHeaders } from "./streamable-http-session.js";

/** The JSON-RPC codes with which the SDK's servers and its published examples reject a session with status 400. */
const sessionCodes: ReadonlySet<number> = new Set([rpcCodes.failed, rpcCodes.sessionNotFound]);

/**
 * SESSION_LOST if a response means that the server no longer knows the session, which is recorded in the session. The specification
 * requires 404 for that; servers made from the SDK's examples, such as server-everything, return 400. Others use both for an
 * invalid argument, and for a stream that they do not offer, so a ping in the same session decides.
 */
export async function lossOf(session: HttpSession, response: UnexpectedResponse): Promise<ToolServerError | undefined> {
  if (session.id === undefined || !mayBeLoss(response) || !(await isPingRejected(session))) return undefined;
  session.isForgotten = true;
  return sessionLost(session.context, response);
}

function mayBeLoss({ status, text }: UnexpectedResponse): boolean {
  if (status === 404 || status === 410) return true;
  const error = rpcErrorIn(text);
  // An error with the id of a request, which is a number, is about that request unless its code says otherwise.
  return status === 400 && (typeof error?.id !== "number" || sessionCodes.has(error.code));
}

async function isPingRejected(session: HttpSession): Promise<boolean> {
  const { url, http, limits, clock, credential } = session.context;
  const message = { jsonrpc: "2.0", id: "wirescope-session-check", method: "ping" } as const;
  const limit = new AbortController();
  const stopTimer = clock.after(limits.connectMs, () => limit.abort());
  try {
    const { signal } = limit;
    const fields = await credential.headers({ method: "POST", url, signal });
    const headers = messageHeaders(session, fields, message, undefined);
    const response = await http.send({ method: "POST", url, headers, body: JSON.stringify(message), signal });
    if (response.status < 300) {
      response.discard();
      return false;
    }
    const rejected = await readUnexpected(response, clock);
    // A server without ping read the message, so it knows the session.
    return mayBeLoss(rejected) && rpcErrorIn(rejected.text)?.code !== rpcCodes.methodNotFound;
  } catch {
    // The next message decides.
    return false;
  } finally {
    stopTimer();
  }
}
