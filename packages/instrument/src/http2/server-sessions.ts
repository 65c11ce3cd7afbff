import type { Http2SecureServer, Http2Server, ServerHttp2Session } from "node:http2";

const known = new WeakMap<Http2Server | Http2SecureServer, Set<ServerHttp2Session>>();

/**
 * The sessions that a server has now, of those that began since the first call. Node does not list them, and an
 * observation that begins again has to show the connections that were there all the time.
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

/** Whether a server has a session now. Node does not report the end of each that it destroys. */
export function hasSessions(server: Http2Server | Http2SecureServer): boolean {
  return [...sessionsOf(server)].some((session) => !session.destroyed);
}
