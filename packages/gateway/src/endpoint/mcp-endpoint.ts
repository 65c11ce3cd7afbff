import {
  hasEnvelope,
  isModernVersion,
  parseMessage,
  type RpcNotification,
  type RpcRequest,
} from "@wirescope/tool-server/internal";
import type { EndpointParts } from "./endpoint-parts.js";
import {
  accepts,
  type EndpointRequest,
  type EndpointResponse,
  type HttpHandler,
  isDisconnected,
  isJson,
  sessionIdOf,
  versionOf,
} from "./http-exchange.js";
import { endFailed, httpError, readText, refuse } from "./http-outlet.js";
import { serveLegacyDelete, serveLegacyGet, serveLegacyPost } from "./legacy-http.js";
import { serveModernPost } from "./modern-http.js";

/**
 * The Streamable HTTP endpoint, for both eras. The body decides: a modern request contains its version. Everything else is legacy, and
 * belongs to a session.
 */
export function createMcpEndpoint(parts: EndpointParts): HttpHandler {
  return (request, response) => {
    const version = versionOf(request.headers);
    if (version !== undefined && isModernVersion(version) && request.method !== "POST") {
      const error = httpError(405, `Method not allowed. Use POST: version ${version} has no other method.`);
      return refuse(request, response, error, null, { allow: "POST" });
    }
    switch (request.method) {
      case "POST":
        break;
      case "GET":
        return serveLegacyGet(parts, request, response);
      case "DELETE":
        return serveLegacyDelete(parts, request, response);
      default:
        return refuse(request, response, httpError(405, "Method not allowed. Use POST, GET or DELETE."), null, {
          allow: "GET, POST, DELETE",
        });
    }
    if (!isJson(request.headers["content-type"])) {
      return refuse(request, response, httpError(415, "The content type must be application/json."));
    }
    const { accept } = request.headers;
    if (!accepts(accept, "application/json") || !accepts(accept, "text/event-stream")) {
      return refuse(
        request,
        response,
        httpError(406, "The client must accept application/json and text/event-stream."),
      );
    }
    servePost(parts, request, response).catch((error: unknown) => endFailed(parts, request, response, error));
  };
}

async function servePost(parts: EndpointParts, request: EndpointRequest, response: EndpointResponse): Promise<void> {
  const text = await readText(parts, request, response);
  if (text === undefined) return;
  const turn = parts.turns.enter();
  if (turn !== undefined) {
    // A session whose request waits is not idle.
    const session = sessionIdOf(request.headers);
    if (session !== undefined) parts.sessions.find(session, parts.requesterOf(request).principal)?.touch();
    await turn;
  }
  const read = parseMessage(text);
  if ("code" in read) {
    refuse(request, response, httpError(400, read.message, read.code));
    return;
  }
  if (read.kind !== "response" && isModern(read.message, request)) {
    if (!isDisconnected(response)) serveModernPost(parts, request, response, read);
    return;
  }
  // A legacy client that disconnects does not cancel its calls, but a new session would be useless: the client does not get its id.
  if (read.kind === "request" && read.message.method === "initialize" && isDisconnected(response)) return;
  serveLegacyPost(parts, request, response, read);
}

function isModern({ method, params }: RpcRequest | RpcNotification, request: EndpointRequest): boolean {
  const version = versionOf(request.headers);
  return hasEnvelope(params) || (version !== undefined && isModernVersion(version) && method !== "initialize");
}
