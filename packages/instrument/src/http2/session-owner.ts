import type { ClientHttp2Session } from "node:http2";

/** In the options with which a client connects: who shows the sessions that come of them. */
export const sessionOwnerKey: unique symbol = Symbol("wirescope.session-owner");

/** Shows sessions of which it knows more than can be seen of them: what they are for, and what a call is. */
export interface SessionOwner {
  /** A session was made, and is about to connect. */
  sessionOpened(session: ClientHttp2Session): void;
}

/** Who shows the sessions that come of these options, if anybody in particular does. */
export function sessionOwnerOf(options: unknown): SessionOwner | undefined {
  return typeof options === "object" && options !== null
    ? (options as { readonly [sessionOwnerKey]?: SessionOwner })[sessionOwnerKey]
    : undefined;
}
