import http2, { type ClientHttp2Session } from "node:http2";
import { syncBuiltinESMExports } from "node:module";
import { sessionOwnerOf } from "../http2/session-owner.js";

let isPatched = false;

/**
 * Tells the owner of a session that it was made, where the options with which it was made name one. Connect's session
 * manager hands its options through, and nothing but this sees a session before it is connected.
 */
export function patchHttp2Connect(): void {
  if (isPatched) return;
  isPatched = true;
  const original = http2.connect;

  function connect(...args: Parameters<typeof http2.connect>): ClientHttp2Session {
    const session = Reflect.apply(original, http2, args);
    sessionOwnerOf(args[1])?.sessionOpened(session);
    return session;
  }
  // Its name, and what util.promisify looks for.
  Object.defineProperties(connect, Object.getOwnPropertyDescriptors(original));
  Object.assign(http2, { connect });
  // What was imported by name is bound to the module's exports, and follows them when it is told.
  syncBuiltinESMExports();
}
