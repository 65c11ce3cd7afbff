import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { ChannelzError } from "@wirescope/channelz/internal";
import { guardNode } from "../guard-listener.js";
import { stopObserving } from "../observation.js";
import { exchangeKey, type Followed } from "./exchange-tracker.js";
import { patchMessages } from "./patch-messages.js";
import { type ConnectionOwner, ServerConnection } from "./server-connection.js";

/** The owners of connections, by server. */
const owners = new WeakMap<Server, ConnectionOwner>();
/** Called for each request to a server without an owner; it may call `addOwner`. */
let unobservedListener: ((server: Server) => void) | undefined;
/** The number of owners, plus one if there is an `unobservedListener`. */
let subscribers = 0;

/** Reports all requests to a server to the owner of its connections. */
export function addOwner(server: Server, owner: ConnectionOwner): void {
  owners.set(server, owner);
  addSubscriber();
}

export function removeOwner(server: Server): void {
  if (owners.delete(server)) removeSubscriber();
}

/** Sets the listener for requests to servers without an owner. Returns an unsubscribe function. */
export function listenToUnobservedServers(listener: (server: Server) => void): () => void {
  unobservedListener = listener;
  addSubscriber();
  return () => {
    unobservedListener = undefined;
    removeSubscriber();
  };
}

/** The connection of a socket, shown from now on; undefined if the socket or the server's handle is closed. */
export function connectionOf(server: Server, owner: ConnectionOwner, socket: Socket): ServerConnection | undefined {
  try {
    return ServerConnection.of(socket) ?? (socket.destroyed ? undefined : new ServerConnection(owner, socket));
  } catch (error) {
    if (!(error instanceof ChannelzError) || error.code !== "LINK_REFUSED") throw error;
    // The application closed the handle, so the server is no longer shown; its connections continue.
    stopObserving(server);
    return undefined;
  }
}

function addSubscriber(): void {
  subscribers += 1;
  if (subscribers > 1) return;
  patchMessages();
  subscribe("http.server.request.start", onRequest);
  subscribe("http.server.response.finish", onResponse);
}

function removeSubscriber(): void {
  subscribers -= 1;
  if (subscribers > 0) return;
  unsubscribe("http.server.request.start", onRequest);
  unsubscribe("http.server.response.finish", onResponse);
}

/** Published by Node for every request except upgrades, even if Node itself responds. */
interface Published {
  readonly request: IncomingMessage;
  readonly response: ServerResponse & Followed;
  readonly socket: Socket;
  readonly server: Server;
}

const onRequest = guardNode((message: unknown): void => {
  const { request, response, socket, server } = message as Published;
  shownConnection(server, socket)?.requested(request, response);
});

const onResponse = guardNode((message: unknown): void => {
  const { response, socket } = message as Published;
  const exchange = response[exchangeKey];
  if (exchange === undefined) return;
  exchange.finished(socket);
  exchange.closed();
});

/** The connection of a request. It may not be shown yet: it was accepted before the observation, or by another server. */
function shownConnection(server: Server, socket: Socket): ServerConnection | undefined {
  const connection = ServerConnection.of(socket);
  if (connection !== undefined) return connection;
  if (!owners.has(server)) unobservedListener?.(server);
  const owner = owners.get(server);
  return owner === undefined ? undefined : connectionOf(server, owner, socket);
}
