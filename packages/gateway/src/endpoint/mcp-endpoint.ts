import { hasEnvelope, isModernVersion, type RpcNotification, type RpcRequest } from "@wirescope/tool-server/internal";
import type { EndpointContext } from "./endpoint-context.js";
import { endFailed, httpError, readMessage, refuse, refuseMethod } from "./http-messages.js";
import {
  accepts,
  type EndpointRequest,
  type EndpointResponse,
  type HttpHandler,
  isDisconnected,
  versionOf,
} from "./http-request.js";
import { serveLegacyDelete, serveLegacyGet, serveLegacyPost } from "./legacy-http.js";
import { serveModernPost } from "./modern-http.js";

/**
 * The Streamable HTTP endpoint, for both eras. The body decides: a modern request contains its version. Everything else is legacy, and
 * belongs to a session.
 */
export function createMcpEndpoint(context: EndpointContext): HttpHandler {
  return (request, response) => {
    const version = versionOf(request.headers);
    if (version !== undefined && isModernVersion(version) && request.method !== "POST") {
      return refuseMethod(request, response, "POST", `Use POST: version ${version} has no other method.`);
    }
    switch (request.method) {
      case "POST":
        break;
      case "GET":
        return serveLegacyGet(context, request, response);
      case "DELETE":
        return serveLegacyDelete(context, request, response);
      default:
        return refuseMethod(request, response, "GET, POST, DELETE", "Use POST, GET or DELETE.");
    }
    const { accept } = request.headers;
    if (!accepts(accept, "application/json") || !accepts(accept, "text/event-stream")) {
      const error = httpError(406, "The client must accept application/json and text/event-stream.");
      return refuse(request, response, error);
    }
    servePost(context, request, response).catch((error: unknown) => endFailed(context, request, response, error));
  };
}

async function servePost(
  context: EndpointContext,
  request: EndpointRequest,
  response: EndpointResponse,
): Promise<void> {
  const read = await readMessage(context, request, response);
  if (read === undefined) return;
  if (read.kind !== "response" && isModern(read.message, request)) {
    if (!isDisconnected(response)) serveModernPost(context, request, response, read);
    return;
  }
  // A legacy client that disconnects does not cancel its calls, but a new session would be useless: the client does not get its id.
  if (read.kind === "request" && read.message.method === "initialize" && isDisconnected(response)) return;
  serveLegacyPost(context, request, response, read);
}

function isModern({ method, params }: RpcRequest | RpcNotification, request: EndpointRequest): boolean {
  const version = versionOf(request.headers);
  return hasEnvelope(params) || (version !== undefined && isModernVersion(version) && method !== "initialize");
}
