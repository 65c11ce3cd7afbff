import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Server as HttpsServer } from "node:https";
import type { Server, Socket } from "node:net";
import { type TLSSocket, Server as TlsServer } from "node:tls";
import { ChannelzError, type Registry, type ServerHandle } from "@wirescope/channelz";
import { observeListening } from "../listening.js";
import { noteObserved, stopObserving } from "../observation.js";
import { causeOf } from "./cause.js";
import { EventFolder } from "./event-folder.js";
import { exchangeKey, type Followed } from "./exchange-tracker.js";
import { patchMessages } from "./patch-messages.js";
import { type ConnectionOwner, ServerConnection } from "./server-connection.js";
import { watchEvents } from "./watch-events.js";

export interface ObserveHttpServerOptions {
  /** What the server is called. */
  readonly name?: string;
}

/**
 * Shows a server of `node:http` or `node:https`, its listening sockets, its connections and its calls in the registry, from
 * now until it closes. Works for whatever answers on it. A connection that was there before shows with its next request.
 *
 * A connection that is upgraded stays, and so does the stream that upgraded it: it succeeded when this side ended it.
 */
export function observeHttpServer(
  registry: Registry,
  server: HttpServer | HttpsServer,
  options: ObserveHttpServerOptions = {},
): ServerHandle {
  stopObserving(server, "observed anew");
  const handle = registry.addServer(options);
  const stopListening = observeListening(registry, server, handle);
  const stopConnections = observeHttp1Connections(registry, server, handle);
  noteObserved(server, (reason) => {
    stopListening();
    stopConnections(reason);
    handle.close(reason);
  });
  return handle;
}

/**
 * Shows those connections of a server that speak HTTP/1.1, and their calls, under a handle that is there already; for a
 * server of HTTP/2 that allows HTTP/1.1 beside. Returns how to stop.
 */
export function observeHttp1Connections(
  registry: Registry,
  server: HttpServer | HttpsServer | Http2SecureServer,
  handle: ServerHandle,
): (reason: string) => void {
  const owner: ConnectionOwner = {
    registry,
    server: handle,
    losses: new EventFolder(handle, "Connection lost"),
    connections: new Set(),
  };
  const handshakes = new EventFolder(handle, "TLS handshake failed");
  const isTls = server instanceof TlsServer;
  const stopEvents = watchEvents(server, (event, first, second) => {
    switch (event) {
      case "connection":
        if (!isTls) connectionOf(server, owner, first as Socket);
        break;
      case "secureConnection":
        if ((first as TLSSocket).alpnProtocol !== "h2") connectionOf(server, owner, first as Socket);
        break;
      case "upgrade":
      case "connect":
        connectionOf(server, owner, second as Socket)?.upgraded();
        break;
      case "tlsClientError":
        handshakes.add(causeOf(first));
        break;
    }
  });
  addOwner(server, owner);
  return (reason) => {
    stopEvents();
    removeOwner(server);
    for (const connection of [...owner.connections]) connection.stop(reason);
  };
}

/** Who is told of requests, by the server they are made of. */
const owners = new WeakMap<Server, ConnectionOwner>();
let ownerCount = 0;

function addOwner(server: Server, owner: ConnectionOwner): void {
  patchMessages();
  owners.set(server, owner);
  ownerCount += 1;
  if (ownerCount > 1) return;
  subscribe("http.server.request.start", onRequest);
  subscribe("http.server.response.finish", onResponse);
}

function removeOwner(server: Server): void {
  if (!owners.delete(server)) return;
  ownerCount -= 1;
  if (ownerCount > 0) return;
  unsubscribe("http.server.request.start", onRequest);
  unsubscribe("http.server.response.finish", onResponse);
}

/** What Node publishes of a request: every one but those that upgrade, also where Node itself answers. */
interface Published {
  readonly request: IncomingMessage;
  readonly response: ServerResponse & Followed;
  readonly socket: Socket;
  readonly server: Server;
}

function onRequest(message: unknown): void {
  const { request, response, socket, server } = message as Published;
  const connection = ServerConnection.of(socket) ?? unseenConnection(server, socket);
  connection?.requested(request, response);
}

function onResponse(message: unknown): void {
  const { response, socket } = message as Published;
  const exchange = response[exchangeKey];
  if (exchange === undefined) return;
  exchange.finished(socket);
  exchange.closed();
}

/** A connection that was there before its server was observed. */
function unseenConnection(server: Server, socket: Socket): ServerConnection | undefined {
  const owner = owners.get(server);
  return owner === undefined ? undefined : connectionOf(server, owner, socket);
}

function connectionOf(server: Server, owner: ConnectionOwner, socket: Socket): ServerConnection | undefined {
  try {
    return ServerConnection.of(socket) ?? (socket.destroyed ? undefined : new ServerConnection(owner, socket));
  } catch (error) {
    if (!(error instanceof ChannelzError) || error.code !== "LINK_REFUSED") throw error;
    // The application closed the handle, so it wants to see no more; its connections go on without us.
    stopObserving(server);
    return undefined;
  }
}
