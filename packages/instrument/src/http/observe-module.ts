import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Server as HttpServer } from "node:http";
import { Server as HttpsServer } from "node:https";
import type { Server } from "node:net";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { openServers } from "../listening.js";
import { isObserved, SharedObservation, stopObserving } from "../observation.js";
import { WeakList } from "../weak-list.js";
import { type ObserveHttpClientsOptions, observeHttpClients } from "./observe-clients.js";
import { observeHttpServer } from "./observe-server.js";
import { hearUnownedServers } from "./server-requests.js";

type AnyHttpServer = HttpServer | HttpsServer;

/** Servers that listened while the module was observed, so that they can be shown again after a pause. */
const servers = new WeakList<AnyHttpServer>();

const listenChannel = "tracing:net.server.listen:asyncStart";
const observation = new SharedObservation("The servers of node:http are");

/**
 * Shows every server of `node:http` and `node:https` that listens, or begins to, and every request that is made with them
 * from now on.
 *
 * Returns how to stop: what is observed then leaves the registry, and comes back when the module is observed again. A call
 * again for the same registry shares the observation, and its options; for another one, that is a TypeError.
 */
export function observeHttpModule(registry: Registry, options: ObserveHttpClientsOptions = {}): () => void {
  const stop = observation.join(registry, () => begin(registry, options));
  return () => stop("no longer observed");
}

function begin(registry: Registry, options: ObserveHttpClientsOptions): (reason: string) => void {
  const handles = new WeakMap<AnyHttpServer, ServerHandle>();
  const show = (server: AnyHttpServer): void => {
    if (!isObserved(server)) handles.set(server, observeHttpServer(registry, server));
  };
  const onServer = (server: unknown): void => {
    if (!(server instanceof HttpServer || server instanceof HttpsServer)) return;
    servers.add(server);
    show(server);
  };
  const onListen = (message: unknown): void => onServer((message as { readonly server: unknown }).server);
  const clients = observeHttpClients(registry, options);
  // A listening server that is unknown was not found when the observation started. One that was shown before is hidden on
  // purpose.
  const stopHearing = hearUnownedServers((server: Server) => {
    if (server.listening && !handles.has(server as AnyHttpServer)) onServer(server);
  });
  subscribe(listenChannel, onListen);
  for (const server of servers) if (server.listening) show(server);
  for (const server of openServers()) if (!isObserved(server)) onServer(server);
  return (reason) => {
    unsubscribe(listenChannel, onListen);
    stopHearing();
    clients.stop();
    // The application may have started to observe it itself.
    for (const server of servers) if (handles.get(server)?.isClosed === false) stopObserving(server, reason);
  };
}
