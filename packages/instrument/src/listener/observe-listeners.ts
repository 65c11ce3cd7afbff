import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Server as HttpServer, IncomingMessage } from "node:http";
import type { Http2ServerRequest, ServerHttp2Session } from "node:http2";
import type { ListenObserver, OpenListener, Registry, ServerHandle, SocketHandle } from "@wirescope/channelz";
import { guardListener } from "../guard-listener.js";
import { observeHttpServer } from "../http/observe-server.js";
import { type IsCall, ServerConnection } from "../http/server-connection.js";
import { observeServerSession } from "../http2/observe-server-session.js";
import { nameRemoteOf } from "../http2/session-tracker.js";
import { isObserved, SharedObservation, stopObserving } from "../observation.js";
import { listenAddress } from "../sockets/addresses.js";
import { describeListenSocket } from "../sockets/describe-socket.js";

/** The name of a listener that is found by observing the process. */
const listenerName = "channelz (wirescope)";
const notShown =
  "A Channelz listener is not shown as a server. Check that @wirescope/channelz and @wirescope/instrument have the same version.";

/** One per registry, because each registry may observe the listeners that no other shows. */
const observations = new WeakMap<Registry, SharedObservation>();

/**
 * Shows every listener that `listenChannelz` opened or will open in this process as a server, unless it is already shown. Reads
 * of a listener count as its calls. Returns a function that stops the observation.
 */
export function observeListeners(registry: Registry): () => void {
  const observation = observations.get(registry) ?? new SharedObservation("Channelz listeners are");
  observations.set(registry, observation);
  const stop = observation.join(registry, () => begin(registry));
  return () => stop("no longer observed");
}

function begin(registry: Registry): (reason: string) => void {
  const stops = new Set<(reason: string) => void>();
  const onOpened = guardListener(({ observe, closed }: OpenListener) => {
    const observer = observeListener(registry, listenerName);
    const detach = observe(observer);
    const stop = (reason: string): void => {
      detach();
      observer.stop(reason);
    };
    stops.add(stop);
    closed.addEventListener("abort", () => stops.delete(stop), { once: true });
  }, notShown);
  // The first channel announces new listeners; on the second, this asks for the listeners that are already open.
  subscribe("wirescope:channelz:opened", onOpened as (message: unknown) => void);
  channel("wirescope:channelz:open").publish(onOpened);
  return (reason) => {
    unsubscribe("wirescope:channelz:opened", onOpened as (message: unknown) => void);
    for (const stop of stops) stop(reason);
  };
}

/** Names the client of the connection that a request arrived on. */
export function nameClient(request: IncomingMessage | Http2ServerRequest, name: string): void {
  if (!("stream" in request)) ServerConnection.of(request.socket)?.nameRemote(name);
  else if (request.stream.session !== undefined) nameRemoteOf(request.stream.session, name);
}

/**
 * Shows a listener as one server of the registry, unless it is already shown: its listening socket, its HTTP/1.1 and HTTP/2
 * connections, and its calls. Default for `isCall`: every request is one.
 */
export function observeListener(
  registry: Registry,
  name: string,
  isCall?: IsCall,
): ListenObserver & { readonly stop: (reason: string) => void } {
  const sessions = new Set<ServerHttp2Session>();
  let http1Server: HttpServer | undefined;
  let handle: ServerHandle | undefined;
  let socket: SocketHandle | undefined;
  return {
    onHttp1Server(server) {
      if (isObserved(server)) return;
      http1Server = server;
      handle = observeHttpServer(registry, server, { name }, isCall);
    },
    onHttp2Session(session) {
      if (handle === undefined) return;
      observeServerSession(registry, session, handle, isCall);
      sessions.add(session);
      session.once("close", () => sessions.delete(session));
    },
    onListening(server) {
      if (handle === undefined) return;
      const local = listenAddress(server);
      socket = registry.addListenSocket({ server: handle, local, subject: server, describe: describeListenSocket });
      handle.trace("Listening");
      server.once("close", () => socket?.close());
    },
    stop(reason) {
      for (const session of sessions) stopObserving(session, reason);
      socket?.close(reason);
      if (http1Server !== undefined) stopObserving(http1Server, reason);
    },
  };
}
