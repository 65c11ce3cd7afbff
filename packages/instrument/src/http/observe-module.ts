import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Server as HttpServer } from "node:http";
import { Server as HttpsServer } from "node:https";
import type { Registry } from "@wirescope/channelz";
import { isObserved, stopObserving } from "../observation.js";
import { WeakList } from "../weak-list.js";
import { observeHttpClients } from "./observe-clients.js";
import { observeHttpServer } from "./observe-server.js";

/** Servers that began to listen while the module was observed, so that they can be shown again after a pause. */
const servers = new WeakList<HttpServer | HttpsServer>();

const listenChannel = "tracing:net.server.listen:asyncStart";

/**
 * Shows every server of `node:http` and `node:https` that begins to listen from now on, and every request that is made with
 * them. Returns how to stop: what is observed then leaves the registry, and comes back when the module is observed again.
 */
export function observeHttpModule(registry: Registry): () => void {
  const show = (server: HttpServer | HttpsServer): void => {
    if (!isObserved(server)) observeHttpServer(registry, server);
  };
  const onListen = (message: unknown): void => {
    const { server } = message as { readonly server: unknown };
    if (!(server instanceof HttpServer || server instanceof HttpsServer)) return;
    servers.add(server);
    show(server);
  };
  const clients = observeHttpClients(registry);
  subscribe(listenChannel, onListen);
  for (const server of servers) if (server.listening) show(server);
  return () => {
    unsubscribe(listenChannel, onListen);
    clients.stop();
    for (const server of servers) stopObserving(server);
  };
}
