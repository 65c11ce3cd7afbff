import type { Server as HttpServer } from "node:http";
import type { ListenObserver, Registry, ServerHandle, SocketHandle } from "@wirescope/channelz";
import {
  describeListenSocket,
  listenAddress,
  observeHttpServer,
  observePosts,
  observeServerSession,
} from "@wirescope/instrument/servers";

/** Shows a listener as one server of the registry: where it listens, its connections over both versions of HTTP, and its calls. */
export function observeListener(registry: Registry, name: string): ListenObserver {
  let handle: ServerHandle | undefined;
  let http1: HttpServer | undefined;
  return {
    onHttp1Server(server) {
      http1 = server;
      handle = observeHttpServer(registry, server, { name });
    },
    onPosts: (socket) => http1 && observePosts(http1, socket),
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
