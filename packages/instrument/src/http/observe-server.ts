import type { EventEmitter } from "node:events";
import { Server as HttpServer, type IncomingMessage } from "node:http";
import type { Http2SecureServer } from "node:http2";
import { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { type TLSSocket, Server as TlsServer } from "node:tls";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { EventCoalescer } from "../event-coalescer.js";
import { guardNode } from "../guard-listener.js";
import { observeListening } from "../listening.js";
import { markObserved, stopObserving } from "../observation.js";
import { handshakeFailure } from "../sockets/tls.js";
import type { ConnectionOwner, IsCall } from "./server-connection.js";
import { addOwner, connectionOf, removeOwner } from "./server-requests.js";

/** How a `node:http` server appears in Channelz. */
export interface ObserveHttpServerOptions {
  /** The name of the server. */
  readonly name?: string;
}

const everyRequest: IsCall = () => true;

/**
 * Shows a `node:http` or `node:https` server, its listening sockets, its connections and its calls in the registry, from now until
 * it closes. Works for any handler. An existing connection appears with its next request.
 *
 * An upgraded connection is still shown, and so is the stream of the upgrade, which succeeds when this side ends it. Its call fails
 * if the upgrade is refused, or if the client of a WebSocket ends first. Throws a TypeError for any other kind of server.
 */
export function observeHttpServer(
  registry: Registry,
  server: HttpServer | HttpsServer,
  options: ObserveHttpServerOptions = {},
  isCall: IsCall = everyRequest,
): ServerHandle {
  if (!isHttp1Server(server)) {
    throw new TypeError("This is no server of node:http or node:https. For one of node:http2, use observeHttp2Server.");
  }
  stopObserving(server, "observed again");
  const handle = registry.addServer(options);
  const stopListening = observeListening(registry, server, handle);
  const stopConnections = observeHttp1Connections(registry, server, handle, isCall);
  markObserved(server, (reason) => {
    stopListening();
    stopConnections(reason);
    handle.close(reason);
  });
  return handle;
}

/** Whether a value is a server of `node:http` or `node:https`. */
export function isHttp1Server(subject: unknown): subject is HttpServer | HttpsServer {
  return subject instanceof HttpServer || subject instanceof HttpsServer;
}

/**
 * Shows the HTTP/1.1 connections of a server and their calls under an existing handle; also for an HTTP/2 server that allows
 * HTTP/1.1. Returns a function that stops it.
 */
export function observeHttp1Connections(
  registry: Registry,
  server: HttpServer | HttpsServer | Http2SecureServer,
  handle: ServerHandle,
  isCall: IsCall = everyRequest,
): (reason: string) => void {
  const owner: ConnectionOwner = {
    registry,
    server: handle,
    losses: new EventCoalescer(handle, "Connection lost"),
    connections: new Set(),
    isCall,
  };
  const tlsFailures = new EventCoalescer(handle, "TLS handshake failed");
  const isTls = server instanceof TlsServer;
  const onEvent = guardNode((event: string | symbol, first: unknown, second: unknown): void => {
    switch (event) {
      case "connection":
        if (!isTls) connectionOf(server, owner, first as Socket);
        break;
      case "secureConnection":
        if ((first as TLSSocket).alpnProtocol !== "h2") connectionOf(server, owner, first as Socket);
        break;
      case "upgrade":
      case "connect": {
        const upgrade = event === "upgrade" && (first as IncomingMessage).headers.upgrade;
        connectionOf(server, owner, second as Socket)?.upgraded(/^websocket$/i.test(String(upgrade)));
        break;
      }
      case "tlsClientError":
        tlsFailures.add(handshakeFailure(first, second as TLSSocket));
        break;
    }
  });
  const stopEvents = watchEvents(server, onEvent);
  addOwner(server, owner);
  return (reason) => {
    stopEvents();
    removeOwner(server);
    for (const connection of [...owner.connections]) connection.stop(reason);
  };
}

type Emit = EventEmitter["emit"];

/**
 * Calls `listener` for all events of an emitter, before its listeners and without being one of them: Node behaves differently if
 * some events, such as `upgrade`, have a listener. Returns a function that stops it.
 */
function watchEvents(
  emitter: EventEmitter,
  listener: (event: string | symbol, first: unknown, second: unknown) => void,
): () => void {
  const before = Object.getOwnPropertyDescriptor(emitter, "emit");
  let isOn = true;
  const emit: Emit = function (this: EventEmitter, event: string | symbol): boolean {
    // biome-ignore lint/complexity/noArguments: passed on as they are, they cost no array an event
    const args = arguments;
    if (isOn) listener(event, args[1], args[2]);
    // Looked up each time, because the class may be patched later.
    const inner: Emit = before?.value ?? Object.getPrototypeOf(emitter).emit;
    return inner.apply(this, args as unknown as [string]);
  };
  Object.defineProperty(emitter, "emit", { value: emit, configurable: true, writable: true, enumerable: false });
  return () => {
    isOn = false;
    // If `emit` was wrapped again since, this wrapper stays in the chain and does nothing.
    if (emitter.emit !== emit) return;
    if (before === undefined) Reflect.deleteProperty(emitter, "emit");
    else Object.defineProperty(emitter, "emit", before);
  };
}
