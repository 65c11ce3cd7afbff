import http2, { type ClientHttp2Session, type Http2SecureServer, type Http2Server } from "node:http2";
import { syncBuiltinESMExports } from "node:module";
import type { Registry } from "@wirescope/channelz";
import { isObserved, stopObserving } from "../observation.js";
import { WeakList } from "../weak-list.js";
import { isMadeByLibrary } from "./made-by-library.js";
import { observeHttp2Session } from "./observe-client.js";
import { observeHttp2Server } from "./observe-server.js";
import { sessionOwnerOf } from "./session-owner.js";

type AnyServer = Http2Server | Http2SecureServer;

/** What was made while the module was observed, so that it can be shown again after a pause. */
const servers = new WeakList<AnyServer>();
const sessions = new WeakList<ClientHttp2Session>();
const targets = new WeakMap<ClientHttp2Session, string>();

/**
 * Shows every server and every client session of HTTP/2 that this process makes from now on, whoever makes it. Returns
 * how to stop: what is observed then leaves the registry, and comes back when the module is observed again.
 */
export function observeHttp2Module(registry: Registry): () => void {
  const originals = { ...http2 };
  let isOn = true;
  const show = (server: AnyServer): void => {
    if (isOn && !isObserved(server)) observeHttp2Server(registry, server);
  };
  const watch = (server: AnyServer): void => {
    servers.add(server);
    show(server);
  };
  const showSession = (session: ClientHttp2Session): void => {
    // Whoever knows more of a session, such as the library that made it, went first.
    if (!isOn || isObserved(session) || session.destroyed) return;
    observeHttp2Session(registry, session, { target: targets.get(session) ?? "" });
  };

  function connect(...args: Parameters<typeof http2.connect>): ClientHttp2Session {
    const session = Reflect.apply(originals.connect, http2, args);
    if (isMadeByLibrary() || sessionOwnerOf(args[1]) !== undefined) return session;
    sessions.add(session);
    targets.set(session, authorityOf(args[0]));
    showSession(session);
    return session;
  }
  function createServer(...args: unknown[]): Http2Server {
    const server: Http2Server = Reflect.apply(originals.createServer, http2, args);
    if (!isMadeByLibrary()) watch(server);
    return server;
  }
  function createSecureServer(...args: unknown[]): Http2SecureServer {
    const server: Http2SecureServer = Reflect.apply(originals.createSecureServer, http2, args);
    if (!isMadeByLibrary()) watch(server);
    return server;
  }
  const patches = { connect, createServer, createSecureServer };
  Object.assign(http2, patches);
  // What was imported by name is bound to the module's exports, and follows them when it is told.
  syncBuiltinESMExports();
  for (const server of servers) show(server);
  for (const session of sessions) showSession(session);

  return () => {
    isOn = false;
    for (const name of ["connect", "createServer", "createSecureServer"] as const) {
      // Another patch may stand on top of ours; then ours stays in the chain, and shows nothing.
      if (http2[name] === patches[name]) Object.assign(http2, { [name]: originals[name] });
    }
    syncBuiltinESMExports();
    for (const subject of [...servers, ...sessions]) stopObserving(subject);
  };
}

function authorityOf(authority: string | URL): string {
  try {
    return new URL(authority).host;
  } catch {
    return String(authority);
  }
}
