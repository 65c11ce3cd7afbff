import {
  isModernVersion,
  legacyVersions,
  type ParsedMessage,
  RpcError,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { Session } from "../callers/session.js";
import { headerMismatch } from "../servers/param-headers.js";
import { beginSession } from "./begin-session.js";
import type { EndpointContext } from "./endpoint-context.js";
import { endFailed, HttpResponseWriter, httpError, sendJson } from "./http-messages.js";
import { accepts, type EndpointRequest, type EndpointResponse, sessionIdOf, versionOf } from "./http-request.js";

/** Handles a message from a legacy client: `initialize` starts a session, and everything else requires one. */
export function serveLegacyPost(
  context: EndpointContext,
  request: EndpointRequest,
  response: EndpointResponse,
  read: ParsedMessage,
): void {
  const { kind, message } = read;
  try {
    if (kind === "request" && message.method === "initialize") {
      initialize(context, request, response, message);
      return;
    }
    const session = sessionOf(context, request);
    if (kind === "request") {
      const writer = new HttpResponseWriter(response, context.streams);
      session.request(message, writer, request.headers);
      return;
    }
    if (kind === "notification") session.notified(message);
    else session.responded(message);
    response.writeHead(202).end();
  } catch (error) {
    endFailed(context, request, response, error, kind === "request" ? message.id : null);
  }
}

/** Opens a session's stream for messages that relate to no request. */
export function serveLegacyGet(context: EndpointContext, request: EndpointRequest, response: EndpointResponse): void {
  try {
    if (!accepts(request.headers.accept, "text/event-stream"))
      throw httpError(406, "The client must accept text/event-stream.");
    const session = sessionOf(context, request);
    const stream = context.streams.open(response, { "mcp-session-id": session.id });
    session.setStream(stream);
    response.once("close", () => session.loseStream(stream));
  } catch (error) {
    endFailed(context, request, response, error);
  }
}

/** Ends a session. */
export function serveLegacyDelete(
  context: EndpointContext,
  request: EndpointRequest,
  response: EndpointResponse,
): void {
  try {
    sessionOf(context, request).close("closed by the client");
    response.writeHead(200).end();
  } catch (error) {
    endFailed(context, request, response, error);
  }
}

function initialize(
  context: EndpointContext,
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
  const { session, response: begun } = beginSession(context, context.requesterOf(request), message);
  context.nameClient(request, session.account);
  sendJson(response, 200, begun, { "mcp-session-id": session.id });
}

/** The session that a request names, if it belongs to the client. Throws an RpcError. */
function sessionOf(context: EndpointContext, request: EndpointRequest): Session {
  const id = sessionIdOf(request.headers);
  if (id === undefined) throw httpError(400, "The header Mcp-Session-Id is missing. Send initialize first.");
  const session = context.sessions.find(id, context.requesterOf(request).principal);
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
  // A client may open more connections than the one that started the session.
  context.nameClient(request, session.account);
  return session;
}
