import http2, { type ClientHttp2Session, type Http2SecureServer, type Http2Server } from "node:http2";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";
import { guardNode } from "../guard-listener.js";

/** Called with each session that has no owner, and the arguments that it was created with. */
export type SessionListener = (session: ClientHttp2Session, authority: unknown, options: unknown) => void;

let isPatched = false;
let sessionListener: SessionListener | undefined;

/** Sets the listener for sessions without an owner; undefined for none. */
export function listenToSessions(listener: SessionListener | undefined): void {
  sessionListener = listener;
}

/**
 * Reports each new session to the owner in its options, or else to the listener. Connect's session manager passes its options
 * through, and no other hook sees a session before it is connected.
 */
export function patchConnect(): void {
  if (isPatched) return;
  isPatched = true;
  const original = http2.connect;

  function connect(...args: Parameters<typeof http2.connect>): ClientHttp2Session {
    const session = Reflect.apply(original, http2, args);
    reportSession(session, args[0], args[1]);
    return session;
  }
  function connected(...args: Parameters<typeof http2.connect>): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const session = connect(args[0], args[1], () => {
        session.off("error", reject);
        resolve(session);
      });
      session.once("error", reject);
    });
  }
  // Copies the name, and replaces the function for util.promisify, because Node's would call the original.
  Object.defineProperties(connect, {
    ...Object.getOwnPropertyDescriptors(original),
    [promisify.custom]: { value: connected },
  });
  Object.assign(http2, { connect });
  // Updates what others imported by name.
  syncBuiltinESMExports();
}

const reportSession = guardNode<Parameters<SessionListener>, void>((session, authority, options) => {
  const owner = sessionOwnerOf(options);
  if (owner !== undefined) owner.sessionOpened(session);
  else if (depth === 0) sessionListener?.(session, authority, options);
});

/** The key of a session's owner in the options that it is created with. */
export const sessionOwnerKey: unique symbol = Symbol("wirescope.session-owner");

/** An instrument that shows its own sessions, because it knows their purpose and what counts as a call. */
export interface SessionOwner {
  /** A session was created, and is about to connect. */
  sessionOpened(session: ClientHttp2Session): void;
}

/** The owner of the sessions with these options, if they have one. */
function sessionOwnerOf(options: unknown): SessionOwner | undefined {
  return typeof options === "object" && options !== null
    ? (options as { readonly [sessionOwnerKey]?: SessionOwner })[sessionOwnerKey]
    : undefined;
}

/** How many calls of `createForLibrary` are running. */
let depth = 0;

/** Runs a function that creates an HTTP/2 session or server for a library with its own instrument, which reports it instead. */
export function createForLibrary<T>(create: () => T): T {
  depth += 1;
  try {
    return create();
  } finally {
    depth -= 1;
  }
}

export type AnyHttp2Server = Http2Server | Http2SecureServer;
type ServerListener = (server: AnyHttp2Server) => void;

let prototypes: object[] | undefined;
let serverListener: ServerListener | undefined;

/** Sets the listener for new servers, except those from `createForLibrary`; undefined for none. */
export function listenToServers(listener: ServerListener | undefined): void {
  serverListener = listener;
}

/** Whether a value is an HTTP/2 server; Node does not export the classes. Works only after `patchCreate`. */
export function isHttp2Server(subject: unknown): subject is AnyHttp2Server {
  return prototypes?.some((prototype) => Object.prototype.isPrototypeOf.call(prototype, subject as object)) ?? false;
}

/** Reports each HTTP/2 server that is created. */
export function patchCreate(): void {
  if (prototypes !== undefined) return;
  const { createServer, createSecureServer } = http2;
  prototypes = [createServer(), createSecureServer()].map((server) => Object.getPrototypeOf(server) as object);
  const patches = { createServer: reporting(createServer), createSecureServer: reporting(createSecureServer) };
  Object.assign(http2, patches);
  // Updates what others imported by name.
  syncBuiltinESMExports();
}

function reporting<F extends (...args: never[]) => AnyHttp2Server>(create: F): F {
  const patched = (...args: unknown[]): AnyHttp2Server => {
    const server: AnyHttp2Server = Reflect.apply(create, http2, args);
    if (depth === 0) serverListener?.(server);
    return server;
  };
  return Object.defineProperties(patched, Object.getOwnPropertyDescriptors(create)) as unknown as F;
}
