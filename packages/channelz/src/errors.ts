/** Every way in which this package fails. `docs/errors.md` explains each code and what to do about it. */
export type ChannelzErrorCode =
  /** The object asked for does not exist, is of another kind, or is no longer remembered. */
  | "NOT_FOUND"
  /** A request carries a value that can never be valid, such as a negative page size. */
  | "INVALID_ARGUMENT"
  /** A walk stopped because the peer lists more objects than the caller allows. */
  | "LIMIT_REACHED"
  /** The link would close a cycle in the graph of channels. */
  | "LINK_CYCLE"
  /** The link would give one parent both channels or subchannels and sockets. */
  | "LINK_MIXED_CHILDREN"
  /** The link names an object that is closed, of another registry, or already has an owner. */
  | "LINK_REFUSED"
  /** The listener would be reachable from other machines without authenticating its callers. */
  | "LISTEN_EXPOSED"
  /** The listener cannot start: the address is taken, not ours, or not allowed. */
  | "LISTEN_FAILED"
  /** The file that should hold the bearer token cannot be read, or holds none. */
  | "TOKEN_UNUSABLE"
  /** The token, or another secret header, would cross the network in the clear. */
  | "TOKEN_EXPOSED"
  /** The address of a peer cannot be understood. */
  | "TARGET_INVALID"
  /** The peer cannot be reached, or the connection broke. */
  | "PEER_UNAVAILABLE"
  /** The peer responds, but serves Channelz under no package that we know. */
  | "PEER_WITHOUT_CHANNELZ"
  /** The peer refused us: no token, a wrong one, or not allowed. */
  | "PEER_REFUSED"
  /** The peer did not respond in time, or the caller gave up. */
  | "PEER_TIMEOUT"
  /** The peer failed in a way of its own; the message carries its words. */
  | "PEER_FAILED";

/** The one error of this package: guard on `code`, read `message`, look at `cause`. */
export class ChannelzError extends Error {
  override readonly name = "ChannelzError";
  readonly code: ChannelzErrorCode;

  constructor(code: ChannelzErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether `value` is a ChannelzError, with this code where one is given; also across copies of this package. */
  static is(value: unknown, code?: ChannelzErrorCode): value is ChannelzError {
    return (
      value instanceof Error &&
      value.name === "ChannelzError" &&
      "code" in value &&
      (code === undefined || value.code === code)
    );
  }
}
