import { ToolServerError } from "../../../errors.js";
import type { HttpRequest } from "../../../http/http-client.js";
import { parseChallenges } from "../../credentials/challenge.js";
import { isRefusal } from "../../credentials/refusal-rules.js";
import type { OAuthContext } from "../oauth-context.js";
import { parseScopes } from "./scopes.js";

/** What a tool server asks for when it refuses a request. */
export interface ResourceChallenge {
  /** Whether it asks for a token at all, by a challenge of Bearer or DPoP. */
  readonly isOAuth: boolean;
  /** The urls of its metadata, as they are written, in order and over all challenges. */
  readonly resourceMetadata: readonly string[];
  /** The permissions that the request needs. */
  readonly scopes: readonly string[];
  /** The error code of RFC 6750. */
  readonly error: string | undefined;
  /** Whether it asks for tokens that are bound to a key. */
  readonly wantsProof: boolean;
}

/** Reads the challenge of a WWW-Authenticate header, where there is one of Bearer or DPoP. */
export function parseResourceChallenge(header: string | undefined): ResourceChallenge {
  const found = parseChallenges(header ?? "").filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const parameterOf = (name: string): string | undefined =>
    found.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined && value !== "");
  return {
    isOAuth: found.length > 0,
    resourceMetadata: found.flatMap(({ resourceMetadata }) => resourceMetadata),
    scopes: parseScopes(parameterOf("scope")),
    error: parameterOf("error"),
    wantsProof: found.length > 0 && found.every(({ scheme }) => scheme === "dpop"),
  };
}

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
