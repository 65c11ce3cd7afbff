import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { type CorsAdditions, corsHeaders, preflightHeaders } from "./cors.js";
import { createGuard } from "./guard.js";
import { statusResponse } from "./status-response.js";
import { createTokenCheck } from "./token.js";

/** Which requests a program's own HTTP server accepts: as in `ListenOptions` of a listener that is local. */
export interface RequestCheckOptions {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly cors?: CorsAdditions | undefined;
}

/** Returns whether a request may be handled. Otherwise it has its response already. */
export type RequestCheck = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Creates the check of Host, Origin and token that a listener does, for requests of another HTTP/1.1 server. Throws as `listenChannelz`
 * rejects for these options.
 */
export function createRequestCheck(options: RequestCheckOptions): RequestCheck {
  const { token, tokenFile, allowedHosts = [], allowedOrigins = [], cors } = options;
  const checkToken = createTokenCheck({ token, tokenFile });
  const guard = createGuard({ isLocal: true, allowedHosts, allowedOrigins, checkToken });
  return (request, response) => {
    const { method = "", url = "", headers, headersDistinct, socket } = request;
    const verdict = guard({
      httpVersion: 1,
      method,
      path: url.split("?", 1)[0] ?? "",
      headers,
      isEncrypted: (socket as TLSSocket).encrypted === true,
      hasSeveralHosts: (headersDistinct.host?.length ?? 0) > 1,
    });
    if (verdict.outcome === "preflight") {
      response.writeHead(204, preflightHeaders(verdict.origin, cors)).end();
      return false;
    }
    const { origin } = verdict;
    if (origin !== undefined) {
      for (const [name, value] of Object.entries(corsHeaders(origin, cors))) response.setHeader(name, value);
    }
    if (verdict.outcome === "pass") return true;
    const { statusCode, headers: more, body } = statusResponse(verdict.status, method, headers, url);
    response.writeHead(statusCode, more).end(body);
    return false;
  };
}
