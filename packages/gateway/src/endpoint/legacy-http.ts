import {
  isModernVersion,
  legacyVersions,
  type ReadMessage,
  RpcError,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { Session } from "../callers/session.js";
import { headerMismatch } from "../servers/param-headers.js";
import { beginSession } from "./begin-session.js";
import type { EndpointParts } from "./endpoint-parts.js";
import { accepts, type EndpointRequest, type EndpointResponse, sessionIdOf, versionOf } from "./http-exchange.js";
import { endFailed, HttpOutlet, httpError, sendJson } from "./http-outlet.js";

/** Handles a message from a legacy client: `initialize` starts a session, and everything else requires one. */
export function serveLegacyPost(
  parts: EndpointParts,
  request: EndpointRequest,
  response: EndpointResponse,
  read: ReadMessage,
): void {
  const { kind, message } = read;
  try {
    if (kind === "request" && message.method === "initialize") {
      initialize(parts, request, response, message);
      return;
    }
    const session = sessionOf(parts, request);
    if (kind === "request") {
      const outlet = new HttpOutlet(response, parts.streams);
      session.request(message, outlet, request.headers);
      return;
    }
    if (kind === "notification") session.notified(message);
    else session.responded(message);
    response.writeHead(202).end();
  } catch (error) {
    endFailed(parts, request, response, error, kind === "request" ? message.id : null);
  }
}

/** Opens a session's stream for messages that relate to no request. */
export function serveLegacyGet(parts: EndpointParts, request: EndpointRequest, response: EndpointResponse): void {
  try {
    if (!accepts(request.headers.accept, "text/event-stream"))
      throw httpError(406, "The client must accept text/event-stream.");
    const session = sessionOf(parts, request);
    const stream = parts.streams.open(response, { "mcp-session-id": session.id });
    session.setStream(stream);
    response.once("close", () => session.loseStream(stream));
  } catch (error) {
    endFailed(parts, request, response, error);
  }
}

/** Ends a session. */
export function serveLegacyDelete(parts: EndpointParts, request: EndpointRequest, response: EndpointResponse): void {
  try {
    sessionOf(parts, request).close("closed by the client");
    response.writeHead(200).end();
  } catch (error) {
    endFailed(parts, request, response, error);
  }
}

function initialize(
  parts: EndpointParts,
  request: EndpointRequest,
  response: EndpointResponse,
  message: RpcRequest,
): void {
  const named = versionOf(request.headers);
  if (named !== undefined && isModernVersion(named)) {
    throw headerMismatch(
      "mcp-protocol-version",
      `initialize does not exist in version ${named}, which the header names`,
    );
  }
  if (sessionIdOf(request.headers) !== undefined) {
    throw httpError(400, "The session is already initialized.", rpcCodes.invalidRequest);
  }
  const { session, response: begun } = beginSession(parts, parts.requesterOf(request), message);
  sendJson(response, 200, begun, { "mcp-session-id": session.id });
}

/** The session that a request names, if it belongs to the client. Throws an RpcError. */
function sessionOf(parts: EndpointParts, request: EndpointRequest): Session {
  const id = sessionIdOf(request.headers);
  if (id === undefined) throw httpError(400, "The header Mcp-Session-Id is missing. Send initialize first.");
  const session = parts.sessions.find(id, parts.requesterOf(request).principal);
  if (session === undefined) {
    // Also if it belongs to another client: to others it does not exist.
    throw new RpcError(rpcCodes.sessionNotFound, "Session not found. Send initialize to start a new one.", {
      status: 404,
    });
  }
  const version = versionOf(request.headers);
  if (version !== undefined && !legacyVersions.includes(version)) {
    throw httpError(
      400,
      `Protocol version ${version} is not supported in this session, which uses ${session.protocolVersion}.`,
    );
  }
  return session;
}
