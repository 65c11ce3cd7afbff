import { isRefusal } from "../../credentials/refusal-rules.js";
import { ToolServerError } from "../../errors.js";
import type { HttpRequest } from "../../http/http-client.js";
import type { OAuthContext } from "../oauth-context.js";
import { parseResourceChallenge, type ResourceChallenge } from "./resource-challenge.js";

/**
 * Asks the tool server for something without a token, to hear what it wants: for who signs in before anything was refused. A
 * server that cannot be asked, or asks for nothing, has no wish. Rejects with the signal's reason alone.
 */
export async function askForChallenge(context: OAuthContext, signal?: AbortSignal): Promise<ResourceChallenge> {
  const { http, url, limits } = context;
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const requests: readonly Pick<HttpRequest, "method" | "headers" | "body">[] = [
    {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: ping,
    },
    // A server of the old transport takes no messages at its url.
    { method: "GET", headers: { accept: "text/event-stream" } },
  ];
  try {
    for (const request of requests) {
      const answer = await http.send({ ...request, url, headTimeoutMs: limits.requestMs, signal });
      answer.discard();
      if (isRefusal(answer.status)) return parseResourceChallenge(answer.headers["www-authenticate"]);
      if (answer.status !== 404 && answer.status !== 405) break;
    }
  } catch (error) {
    signal?.throwIfAborted();
    // The sign-in itself will say what is wrong.
    if (!ToolServerError.is(error)) throw error;
  }
  return parseResourceChallenge(undefined);
}
