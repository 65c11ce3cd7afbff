import http2, { type Http2SecureServer, type Http2Server } from "node:http2";
import { syncBuiltinESMExports } from "node:module";
import { isMadeByLibrary } from "./made-by-library.js";

export type AnyHttp2Server = Http2Server | Http2SecureServer;
type ServerHearer = (server: AnyHttp2Server) => void;

let prototypes: object[] | undefined;
let hearer: ServerHearer | undefined;

/** Says who hears of servers that are created and that nobody in particular shows; undefined to let them be. */
export function hearServersWith(hear: ServerHearer | undefined): void {
  hearer = hear;
}

/** Whether something is a server of HTTP/2, whose classes Node does not export. Only once the functions are patched. */
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
  // What was imported by name is bound to the module's exports, and follows them when it is updated.
  syncBuiltinESMExports();
}

function reporting<F extends (...args: never[]) => AnyHttp2Server>(create: F): F {
  const patched = (...args: unknown[]): AnyHttp2Server => {
    const server: AnyHttp2Server = Reflect.apply(create, http2, args);
    if (!isMadeByLibrary()) hearer?.(server);
    return server;
  };
  return Object.defineProperties(patched, Object.getOwnPropertyDescriptors(create)) as unknown as F;
}
