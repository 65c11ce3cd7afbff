import type { EventEmitter } from "node:events";
import type { Server as HttpServer } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { type TLSSocket, Server as TlsServer } from "node:tls";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { causeOf } from "../cause.js";
import { EventFolder } from "../event-folder.js";
import { observeListening } from "../listening.js";
import { noteObserved, stopObserving } from "../observation.js";
import type { ConnectionOwner } from "./server-connection.js";
import { addOwner, connectionOf, removeOwner } from "./server-requests.js";

/** How a server of `node:http` appears in Channelz. */
export interface ObserveHttpServerOptions {
  /** What the server is called. */
  readonly name?: string;
}

/**
 * Shows a server of `node:http` or `node:https`, its listening sockets, its connections and its calls in the registry, from
 * now until it closes. Works for any handler. A connection that was there before shows with its next request.
 *
 * A connection that is upgraded stays, and so does the stream that upgraded it: it succeeded when this side ended it.
 */
export function observeHttpServer(
  registry: Registry,
  server: HttpServer | HttpsServer,
  options: ObserveHttpServerOptions = {},
): ServerHandle {
  stopObserving(server, "observed again");
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

type Emit = EventEmitter["emit"];

/**
 * Calls `hear` for the events of an emitter before its listeners, without being a listener: Node behaves differently if some
 * events, such as `upgrade`, have a listener. Returns a function that stops it.
 */
function watchEvents(
  emitter: EventEmitter,
  hear: (event: string | symbol, first: unknown, second: unknown) => void,
): () => void {
  const before = Object.getOwnPropertyDescriptor(emitter, "emit");
  let isOn = true;
  const emit: Emit = function (this: EventEmitter, event: string | symbol): boolean {
    // biome-ignore lint/complexity/noArguments: passed on as they are, they cost no array an event
    const args = arguments;
    if (isOn) hear(event, args[1], args[2]);
    // Looked up each time, because others may patch the class after us.
    const inner: Emit = before?.value ?? Object.getPrototypeOf(emitter).emit;
    return inner.apply(this, args as unknown as [string]);
  };
  Object.defineProperty(emitter, "emit", { value: emit, configurable: true, writable: true, enumerable: false });
  return () => {
    isOn = false;
    // If another watcher wrapped this one, it stays in the chain and does nothing.
    if (emitter.emit !== emit) return;
    if (before === undefined) Reflect.deleteProperty(emitter, "emit");
    else Object.defineProperty(emitter, "emit", before);
  };
}
