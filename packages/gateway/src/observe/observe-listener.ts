import type { ListenObserver, Registry, ServerHandle, SocketHandle } from "@wirescope/channelz";
import {
  describeListenSocket,
  listenAddress,
  observeHttpServer,
  observeServerSession,
} from "@wirescope/instrument/servers";

/** Shows a listener as one server of the registry: where it listens, its connections over both versions of HTTP, and its calls. */
export function observeListener(registry: Registry, name: string): ListenObserver {
  let handle: ServerHandle | undefined;
  return {
    onHttp1Server(server) {
      handle = observeHttpServer(registry, server, { name });
    },
    onHttp2Session(session) {
      if (handle !== undefined) observeServerSession(registry, session, handle);
    },
    onListening(server) {
      if (handle === undefined) return;
      const local = listenAddress(server);
      const socket: SocketHandle = registry.addListenSocket({
        server: handle,
        local,
        subject: server,
        describe: describeListenSocket,
      });
      handle.trace("Listening");
      server.once("close", () => socket.close());
    },
  };
}
