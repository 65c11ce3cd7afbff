import { faultOf, type RequestId, RpcError, rpcCodes, statusOf } from "@wirescope/tool-server/internal";
import type { HttpRequest, HttpResponse } from "./http-exchange.js";
import { sendJson } from "./http-outlet.js";

/** Refuses a request of HTTP, with an error of JSON-RPC that says why. What is left of its body is let go. */
export function refuse(
  request: HttpRequest,
  response: HttpResponse,
  error: unknown,
  id: RequestId | null = null,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const unread = "complete" in request && !request.complete ? request : undefined;
  // Whoever sends more than is wanted could keep the connection busy with it.
  const closing = unread?.httpVersionMajor === 1 ? { connection: "close" } : {};
  sendJson(response, statusOf(error), { jsonrpc: "2.0", id, error: faultOf(error) }, { ...headers, ...closing });
  unread?.resume();
}

/** What is refused for the sake of HTTP. */
export function httpError(status: number, message: string, code: number = rpcCodes.failed): RpcError {
  return new RpcError(code, message, { status });
}
