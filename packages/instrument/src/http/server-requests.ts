import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { ChannelzError } from "@wirescope/channelz/internal";
import { stopObserving } from "../observation.js";
import { exchangeKey, type Followed } from "./exchange-tracker.js";
import { patchMessages } from "./patch-messages.js";
import { type ConnectionOwner, ServerConnection } from "./server-connection.js";

/** The observers of requests, by server. */
const owners = new WeakMap<Server, ConnectionOwner>();
/** Hears of a request of a server that has no owner; it may give it one. */
let onUnowned: ((server: Server) => void) | undefined;
/** Of owners, and of who hears of servers without one. */
let hearers = 0;

/** Reports all requests to a server to the owner of its connections. */
export function addOwner(server: Server, owner: ConnectionOwner): void {
  owners.set(server, owner);
  hear();
}

export function removeOwner(server: Server): void {
  if (owners.delete(server)) hearNoMore();
}

/** Says who hears of the servers that have no owner, with each of their requests. Returns how to stop. */
export function hearUnownedServers(listen: (server: Server) => void): () => void {
  onUnowned = listen;
  hear();
  return () => {
    onUnowned = undefined;
    hearNoMore();
  };
}

/** The connection of a socket, shown from now on if it was not before; undefined if there is nothing to show any more. */
export function connectionOf(server: Server, owner: ConnectionOwner, socket: Socket): ServerConnection | undefined {
  try {
    return ServerConnection.of(socket) ?? (socket.destroyed ? undefined : new ServerConnection(owner, socket));
  } catch (error) {
    if (!(error instanceof ChannelzError) || error.code !== "LINK_REFUSED") throw error;
    // The application closed the handle, so it is not shown any more; its connections continue without us.
    stopObserving(server);
    return undefined;
  }
}

function hear(): void {
  hearers += 1;
  if (hearers > 1) return;
  patchMessages();
  subscribe("http.server.request.start", onRequest);
  subscribe("http.server.response.finish", onResponse);
}

function hearNoMore(): void {
  hearers -= 1;
  if (hearers > 0) return;
  unsubscribe("http.server.request.start", onRequest);
  unsubscribe("http.server.response.finish", onResponse);
}

/** What Node publishes of a request: every one but those that upgrade, also if Node itself responds. */
interface Published {
  readonly request: IncomingMessage;
  readonly response: ServerResponse & Followed;
  readonly socket: Socket;
  readonly server: Server;
}

function onRequest(message: unknown): void {
  const { request, response, socket, server } = message as Published;
  shownConnection(server, socket)?.requested(request, response);
}

function onResponse(message: unknown): void {
  const { response, socket } = message as Published;
  const exchange = response[exchangeKey];
  if (exchange === undefined) return;
  exchange.finished(socket);
  exchange.closed();
}

/** The connection that a request came on: its server may have been handed it before it was observed, or not at all. */
function shownConnection(server: Server, socket: Socket): ServerConnection | undefined {
  const connection = ServerConnection.of(socket);
  if (connection !== undefined) return connection;
  if (!owners.has(server)) onUnowned?.(server);
  const owner = owners.get(server);
  return owner === undefined ? undefined : connectionOf(server, owner, socket);
}
