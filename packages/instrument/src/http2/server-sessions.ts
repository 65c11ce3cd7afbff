import type { Http2SecureServer, Http2Server, ServerHttp2Session } from "node:http2";

const known = new WeakMap<Http2Server | Http2SecureServer, Set<ServerHttp2Session>>();

/**
 * The open sessions of a server that started after the first call. Node does not list them, and an observation that restarts must
 * show existing connections.
 */
export function sessionsOf(server: Http2Server | Http2SecureServer): ReadonlySet<ServerHttp2Session> {
  const sessions = known.get(server);
  if (sessions !== undefined) return sessions;
  const fresh = new Set<ServerHttp2Session>();
  known.set(server, fresh);
  server.prependListener("session", (session: ServerHttp2Session) => {
    fresh.add(session);
    session.once("close", () => fresh.delete(session));
  });
  return fresh;
}

/** Whether a server has open sessions. Node does not emit "close" for every session that it destroys. */
export function hasSessions(server: Http2Server | Http2SecureServer): boolean {
  return [...sessionsOf(server)].some((session) => !session.destroyed);
}
