import http2, { type ClientHttp2Session } from "node:http2";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";
import { isMadeByLibrary } from "./made-by-library.js";
import { sessionOwnerOf } from "./session-owner.js";

/** Hears of a session that nobody in particular shows, with what it was made of. */
export type SessionHearer = (session: ClientHttp2Session, authority: unknown, options: unknown) => void;

let isPatched = false;
let hearer: SessionHearer | undefined;

/** Says who hears of sessions that belong to nobody else; undefined to let them be. */
export function hearSessionsWith(hear: SessionHearer | undefined): void {
  hearer = hear;
}

/**
 * Reports each session that is made: to its owner, if its options name one, or to the observer of all sessions.
 * Connect's session manager hands its options through, and nothing but this sees a session before it is connected.
 */
export function patchConnect(): void {
  if (isPatched) return;
  isPatched = true;
  const original = http2.connect;

  function connect(...args: Parameters<typeof http2.connect>): ClientHttp2Session {
    const session = Reflect.apply(original, http2, args);
    const owner = sessionOwnerOf(args[1]);
    if (owner !== undefined) owner.sessionOpened(session);
    else if (!isMadeByLibrary()) hearer?.(session, args[0], args[1]);
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
  // Its name, and what util.promisify looks for, which in Node calls what is beneath.
  Object.defineProperties(connect, {
    ...Object.getOwnPropertyDescriptors(original),
    [promisify.custom]: { value: connected },
  });
  Object.assign(http2, { connect });
  // What was imported by name is bound to the module's exports, and follows them when it is updated.
  syncBuiltinESMExports();
}
