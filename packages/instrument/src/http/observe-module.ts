import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Server } from "node:net";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { guardNode } from "../guard-listener.js";
import { openServers } from "../listening.js";
import { isObserved, SharedObservation, stopObserving } from "../observation.js";
import { WeakList } from "../weak-list.js";
import { type ObserveHttpClientsOptions, observeHttpClients } from "./observe-clients.js";
import { isHttp1Server, observeHttpServer } from "./observe-server.js";
import { listenToUnobservedServers } from "./server-requests.js";

type AnyHttpServer = HttpServer | HttpsServer;

/** Servers that listened while the module was observed, so that they can be shown again after a pause. */
const servers = new WeakList<AnyHttpServer>();

const listenChannel = "tracing:net.server.listen:asyncStart";
const observation = new SharedObservation("node:http servers are");

/**
 * Shows every `node:http` and `node:https` server that listens now or later, and every request made with these modules from now on.
 *
 * Returns a function that stops the observation and removes everything from the registry; servers reappear when the module is
 * observed again. A second call with the same registry shares the observation and its options; with another one, it throws a
 * TypeError.
 */
export function observeHttpModule(registry: Registry, options: ObserveHttpClientsOptions = {}): () => void {
  const stop = observation.join(registry, () => begin(registry, options));
  return () => stop("no longer observed");
}

function begin(registry: Registry, options: ObserveHttpClientsOptions): (reason: string) => void {
  const handles = new WeakMap<AnyHttpServer, ServerHandle>();
  const show = (server: AnyHttpServer): void => {
    if (!isObserved(server)) handles.set(server, observeHttpServer(registry, server, nameOf(server)));
  };
  const onServer = guardNode((server: unknown): void => {
    if (!isHttp1Server(server)) return;
    servers.add(server);
    show(server);
  });
  const onListen = (message: unknown): void => onServer((message as { readonly server: unknown }).server);
  const clients = observeHttpClients(registry, options);
  // An unknown listening server was not found when the observation started. One that was shown before was hidden on purpose.
  const stopListening = listenToUnobservedServers((server: Server) => {
    if (server.listening && !handles.has(server as AnyHttpServer)) onServer(server);
  });
  subscribe(listenChannel, onListen);
  for (const server of servers) if (server.listening) show(server);
  for (const server of openServers()) if (!isObserved(server)) onServer(server);
  return (reason) => {
    unsubscribe(listenChannel, onListen);
    stopListening();
    clients.stop();
    // The application may have started to observe it itself.
    for (const server of servers) if (handles.get(server)?.isClosed === false) stopObserving(server, reason);
  };
}

/** express is the only framework whose handler of requests can be recognized: it is the application itself. */
function nameOf(server: AnyHttpServer): { readonly name?: string } {
  const isExpress = server
    .listeners("request")
    .some((app) => "handle" in app && "engine" in app && typeof Reflect.get(app, "settings") === "object");
  return isExpress ? { name: "express" } : {};
}
