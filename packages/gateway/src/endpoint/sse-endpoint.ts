import {
  errorObjectOf,
  type ParsedMessage,
  RpcError,
  type RpcRequest,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { Requester } from "../callers/accounts.js";
import type { MessageWriter } from "../callers/message-writer.js";
import type { Session } from "../callers/session.js";
import { beginSession, newSessionId } from "./begin-session.js";
import type { EndpointContext } from "./endpoint-context.js";
import { endFailed, httpError, readMessage, refuse, refuseMethod } from "./http-messages.js";
import { accepts, type EndpointRequest, type EndpointResponse, type HttpHandler } from "./http-request.js";

/** One client of the HTTP+SSE transport. */
interface SseClient {
  readonly requester: Requester;
  readonly writer: MessageWriter;
  session: Session | undefined;
}

/** The deprecated HTTP+SSE transport: one stream for all messages to the client, and POST requests for messages from it. */
export interface SseEndpoint {
  readonly open: HttpHandler;
  readonly post: HttpHandler;
}

/** The path of the POST requests. */
export const messagesPath = "/messages";

export function createSseEndpoint(context: EndpointContext): SseEndpoint {
  const { limits, events, streams, requesterOf } = context;
  const clients = new Map<string, SseClient>();

  const initialize = (id: string, client: SseClient, message: RpcRequest): void => {
    try {
      if (client.session !== undefined)
        throw new RpcError(rpcCodes.invalidRequest, "The session is already initialized.");
      const { session, response } = beginSession(context, client.requester, message, id);
      client.session = session;
      session.setStream(client.writer);
      client.writer.respond(response, 200);
    } catch (error) {
      client.writer.respond({ jsonrpc: "2.0", id: message.id, error: errorObjectOf(error) }, 200);
    }
  };

  const receive = (id: string, client: SseClient, { kind, message }: ParsedMessage): void => {
    const { session, writer } = client;
    if (kind === "request" && message.method === "initialize") initialize(id, client, message);
    else if (session === undefined) {
      if (kind !== "request") return;
      const error = { code: rpcCodes.invalidRequest, message: "Send initialize first." };
      writer.respond({ jsonrpc: "2.0", id: message.id, error }, 200);
    } else if (kind === "request") session.request(message, { ...writer, end: () => {}, isOpen: true }, undefined);
    else if (kind === "notification") session.notified(message);
    else session.responded(message);
  };

  return {
    open(request, response) {
      if (request.method !== "GET") {
        refuseMethod(request, response, "GET");
        return;
      }
      if (!accepts(request.headers.accept, "text/event-stream")) {
        refuse(request, response, httpError(406, "The client must accept text/event-stream."));
        return;
      }
      // Each stream may start a session, and until then the session limit cannot close it.
      if (clients.size >= limits.sessions) {
        const reason = `The limit of ${limits.sessions} sessions is reached by streams of HTTP+SSE clients.`;
        events.emit({ kind: "refused", limit: "sessions", reason });
        refuse(request, response, httpError(503, "Stream limit reached. Try again later."));
        return;
      }
      const id = newSessionId();
      const stream = streams.open(response);
      const client: SseClient = { requester: requesterOf(request), writer: stream, session: undefined };
      clients.set(id, client);
      response.once("close", () => {
        clients.delete(id);
        client.session?.close("client disconnected");
      });
      stream.sendEvent("endpoint", `${messagesPath}?sessionId=${id}`);
    },
    post(request, response) {
      if (request.method !== "POST") {
        refuseMethod(request, response, "POST");
        return;
      }
      const id = new URLSearchParams(request.url?.split("?", 2)[1] ?? "").get("sessionId") ?? "";
      const client = clients.get(id);
      if (client?.requester.principal !== requesterOf(request).principal) {
        refuse(request, response, notFound());
      } else {
        servePost(id, client, request, response).catch((error: unknown) =>
          endFailed(context, request, response, error),
        );
      }
    },
  };

  async function servePost(
    id: string,
    client: SseClient,
    request: EndpointRequest,
    response: EndpointResponse,
  ): Promise<void> {
    const read = await readMessage(context, request, response, () => client.session?.touch());
    if (read === undefined) return;
    // Its stream may have closed while the message was read or queued.
    if (!clients.has(id)) {
      refuse(request, response, notFound());
      return;
    }
    response.writeHead(202);
    response.end("Accepted");
    receive(id, client, read);
  }
}

function notFound(): RpcError {
  return httpError(404, "Session not found. Open a new stream.", rpcCodes.sessionNotFound);
}
