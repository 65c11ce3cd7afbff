import type { Server } from "node:net";
import type { Registry, ServerHandle, SocketHandle } from "@wirescope/channelz";
import { stopObserving } from "./observation.js";
import { listenAddress } from "./sockets/addresses.js";
import { describeListenSocket } from "./sockets/describe-socket.js";

/**
 * Shows where a server listens, now or as soon as it does, and stops observing the server when it closes. Returns how to
 * stop before.
 */
export function observeListening(registry: Registry, server: Server, handle: ServerHandle): () => void {
  let socket: SocketHandle | undefined;
  const onListening = (): void => {
    if (handle.isClosed) return;
    const local = listenAddress(server);
    socket = registry.addListenSocket({ server: handle, local, subject: server, describe: describeListenSocket });
    handle.trace("Listening");
  };
  const onClose = (): void => {
    socket?.close();
    stopObserving(server, "the server closed");
  };
  if (server.listening) onListening();
  server.on("listening", onListening);
  server.on("close", onClose);
  return () => {
    server.off("listening", onListening);
    server.off("close", onClose);
  };
}
