import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientHttp2Session } from "node:http2";
import type { Registry, ServerHandle } from "@wirescope/channelz";
import { guardNode } from "../guard-listener.js";
import { openServers, wasClosed } from "../listening.js";
import { isObserved, SharedObservation, stopObserving } from "../observation.js";
import { WeakList } from "../weak-list.js";
import { observeHttp2Server } from "./observe-server.js";
import {
  type AnyHttp2Server,
  isHttp2Server,
  listenToServers,
  listenToSessions,
  patchConnect,
  patchCreate,
} from "./patch-module.js";
import { hasSessions } from "./server-sessions.js";
import { SessionChannels } from "./session-channels.js";
import { type SessionTarget, sessionTargetOf } from "./session-target.js";

export interface ObserveHttp2ModuleOptions {
  /**
   * The maximum number of channels without a session. Above that, the least recently used one is closed when a target is added.
   * Default 100.
   */
  readonly maxIdleChannels?: number;
}

const listenChannel = "tracing:net.server.listen:asyncStart";
const observation = new SharedObservation("node:http2 servers and sessions are");

/** Created while the module was observed, so that they can be shown again after a pause. */
const servers = new WeakList<AnyHttp2Server>();
const sessions = new WeakList<ClientHttp2Session>();
const targets = new WeakMap<ClientHttp2Session, SessionTarget>();

/**
 * Shows every HTTP/2 server and client session that this process creates from now on. Each target has one channel, under which its
 * sessions appear. Existing servers appear when they listen.
 *
 * Returns a function that stops the observation and removes everything from the registry; what still exists reappears when the
 * module is observed again. A second call with the same registry shares the observation and its options; with another one, it
 * throws a TypeError.
 */
export function observeHttp2Module(registry: Registry, options: ObserveHttp2ModuleOptions = {}): () => void {
  const stop = observation.join(registry, () => begin(registry, options));
  return () => stop("no longer observed");
}

function begin(registry: Registry, { maxIdleChannels = 100 }: ObserveHttp2ModuleOptions): (reason: string) => void {
  patchConnect();
  patchCreate();
  const channels = new SessionChannels(registry, maxIdleChannels);
  const handles = new WeakMap<AnyHttp2Server, ServerHandle>();
  const show = (server: AnyHttp2Server): void => {
    // A more specific instrument, such as that of the library that created the server, may already show it.
    if (!isObserved(server)) handles.set(server, observeHttp2Server(registry, server));
  };
  const showSession = (session: ClientHttp2Session): void => {
    if (!isObserved(session) && !session.destroyed) channels.add(session, targets.get(session)!);
  };
  const onCreated = guardNode((server: AnyHttp2Server): void => {
    servers.add(server);
    show(server);
  });
  const onListen = (message: unknown): void => {
    const { server } = message as { readonly server: unknown };
    if (isHttp2Server(server) && !isObserved(server)) onCreated(server);
  };
  listenToServers(onCreated);
  listenToSessions((session, authority, connectOptions) => {
    sessions.add(session);
    targets.set(session, sessionTargetOf(authority, connectOptions));
    showSession(session);
  });
  subscribe(listenChannel, onListen);
  for (const server of servers) if (!wasClosed(server) || hasSessions(server)) show(server);
  for (const session of sessions) showSession(session);
  for (const server of openServers()) onListen({ server });

  return (reason) => {
    listenToServers(undefined);
    listenToSessions(undefined);
    unsubscribe(listenChannel, onListen);
    // The application may have started to observe it itself.
    for (const server of servers) if (handles.get(server)?.isClosed === false) stopObserving(server, reason);
    channels.close(reason);
  };
}
