import { ToolServerError } from "../../../errors.js";
import type { HttpRequest } from "../../../http/http-client.js";
import { isRefusal } from "../../credentials/refusal-rules.js";
import type { OAuthContext } from "../oauth-context.js";
import { parseResourceChallenge, type ResourceChallenge } from "./resource-challenge.js";

const noChallenge = parseResourceChallenge(undefined);

/** What a tool server wants of who comes without a token. */
export interface ToldChallenge extends ResourceChallenge {
  /** Whether it wants to know who asks; undefined where it could not be asked. */
  readonly isAsked: boolean | undefined;
}

/**
 * Asks the tool server for something without a token, to hear what it wants: for who signs in before anything was refused.
 * Rejects with the signal's reason alone.
 */
export async function askForChallenge(context: OAuthContext, signal?: AbortSignal): Promise<ToldChallenge> {
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
      const answer = await http.send({ ...request, url, headersTimeoutMs: limits.requestMs, signal });
      answer.discard();
      if (isRefusal(answer.status)) {
        return { ...parseResourceChallenge(answer.headers["www-authenticate"]), isAsked: true };
      }
      if (answer.status !== 404 && answer.status !== 405) {
        return { ...noChallenge, isAsked: answer.status < 500 ? false : undefined };
      }
    }
  } catch (error) {
    signal?.throwIfAborted();
    // The sign-in itself will say what is wrong.
    if (!ToolServerError.is(error)) throw error;
  }
  return { ...noChallenge, isAsked: undefined };
}
