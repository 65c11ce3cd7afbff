import { ToolServerError } from "../../../errors.js";
import type { HttpRequest } from "../../../http/http-client.js";
import { parseChallenges } from "../../credentials/challenge.js";
import { isRefusal } from "../../credentials/credential.js";
import type { OAuthContext } from "../oauth-context.js";
import { parseScopes } from "./scopes.js";

/** What a tool server requires, according to its challenge. */
export interface ResourceChallenge {
  /** Whether it asks for a token, with a Bearer or DPoP challenge. */
  readonly isOAuth: boolean;
  /** The urls of its metadata, as written, in order, from all challenges. */
  readonly resourceMetadata: readonly string[];
  /** The scopes that the request needs. */
  readonly scopes: readonly string[];
  /** The error code of RFC 6750. */
  readonly error: string | undefined;
  /** Whether it asks for tokens that are bound to a key (DPoP). */
  readonly requiresProof: boolean;
}

/** Parses the Bearer and DPoP challenges of a WWW-Authenticate header. */
export function parseResourceChallenge(header: string | undefined): ResourceChallenge {
  const found = parseChallenges(header ?? "").filter(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const parameterOf = (name: string): string | undefined =>
    found.map(({ parameters }) => parameters.get(name)).find((value) => value !== undefined && value !== "");
  return {
    isOAuth: found.length > 0,
    resourceMetadata: found.flatMap(({ resourceMetadata }) => resourceMetadata),
    scopes: parseScopes(parameterOf("scope")),
    error: parameterOf("error"),
    requiresProof: found.length > 0 && found.every(({ scheme }) => scheme === "dpop"),
  };
}

const noChallenge = parseResourceChallenge(undefined);

/** The challenge of a tool server to a request without a token. */
export interface ProbedChallenge extends ResourceChallenge {
  /** Whether it requires a sign-in; undefined if it did not respond. */
  readonly isSignInRequired: boolean | undefined;
}

/**
 * Sends a request without a token to find out what the tool server requires, for a sign-in before any request was refused.
 * Rejects only with the signal's reason.
 */
export async function probeChallenge(context: OAuthContext, signal?: AbortSignal): Promise<ProbedChallenge> {
  const { http, url, limits } = context;
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const requests: readonly Pick<HttpRequest, "method" | "headers" | "body">[] = [
    {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: ping,
    },
    // A server with the legacy SSE transport accepts no messages at its url.
    { method: "GET", headers: { accept: "text/event-stream" } },
  ];
  try {
    for (const request of requests) {
      // Reported as the first request of a flow, which the server is expected to refuse.
      const step = { name: "request without a token", request: { ...request, url }, expects: [401, 403] };
      const response = await context.log.request(step, () =>
        http.send({ ...request, url, headersTimeoutMs: limits.requestMs, signal }),
      );
      response.discard();
      if (isRefusal(response.status)) {
        return { ...parseResourceChallenge(response.headers["www-authenticate"]), isSignInRequired: true };
      }
      if (response.status !== 404 && response.status !== 405) {
        return { ...noChallenge, isSignInRequired: response.status < 500 ? false : undefined };
      }
    }
  } catch (error) {
    signal?.throwIfAborted();
    // The sign-in itself reports what is wrong.
    if (!ToolServerError.is(error)) throw error;
  }
  return { ...noChallenge, isSignInRequired: undefined };
}
