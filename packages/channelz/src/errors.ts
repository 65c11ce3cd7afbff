/** The codes of this package's errors. `docs/errors.md` explains each code and what to do about it. */
export type ChannelzErrorCode =
  /** The requested object does not exist, is of another kind, or is no longer remembered. */
  | "NOT_FOUND"
  /** A request contains an invalid value, such as a negative page size. */
  | "INVALID_ARGUMENT"
  /** A walk stopped because the peer lists more objects than the caller allows. */
  | "LIMIT_REACHED"
  /** The link would close a cycle in the graph of channels. */
  | "LINK_CYCLE"
  /** The link would give one parent both channels or subchannels and sockets. */
  | "LINK_MIXED_CHILDREN"
  /** An object of the link is closed, belongs to another registry, or already has an owner. */
  | "LINK_REFUSED"
  /** The listener would be reachable from other machines without authenticating its callers. */
  | "LISTEN_EXPOSED"
  /** The listener cannot start: the address is in use, not local, or not permitted, or the TLS material is unusable. */
  | "LISTEN_FAILED"
  /** The bearer token is invalid, or its file cannot be read or does not contain one. */
  | "TOKEN_UNUSABLE"
  /** The token, or another secret header, would be sent unencrypted over the network. */
  | "TOKEN_EXPOSED"
  /** The address of a peer cannot be parsed. */
  | "TARGET_INVALID"
  /** The peer cannot be reached, or the connection was lost. */
  | "PEER_UNAVAILABLE"
  /** The peer responds, but does not serve Channelz under a known package. */
  | "PEER_WITHOUT_CHANNELZ"
  /** The peer rejected the request: no token, a wrong one, or permission denied. */
  | "PEER_REFUSED"
  /** The peer did not respond in time, or the caller aborted. */
  | "PEER_TIMEOUT"
  /** The peer failed in another way; the message contains the peer's. */
  | "PEER_FAILED";

/** The parts of an error's message: the subject and the problem make one sentence. */
export interface ChannelzErrorParts {
  /** What the problem is about, such as the address of a peer. Omitted if the problem says it. */
  readonly subject?: string | undefined;
  /** What failed and why. */
  readonly problem: string;
  /** What to do next. Omitted if the problem says it, or if nothing helps. */
  readonly advice?: string | undefined;
}

/** The error class of this package: test `code`, and show `message` or its parts. The message is `subject`, `problem` and `advice` in this order. */
export class ChannelzError extends Error {
  override readonly name = "ChannelzError";
  readonly code: ChannelzErrorCode;
  /** What the problem is about; empty if the problem says it. */
  readonly subject: string;
  /** What failed and why; the whole message of an error without parts. */
  readonly problem: string;
  /** What to do next; empty if the problem says it, or if nothing helps. */
  readonly advice: string;

  constructor(code: ChannelzErrorCode, message: string | ChannelzErrorParts, options?: ErrorOptions) {
    const { subject = "", problem, advice = "" } = typeof message === "string" ? { problem: message } : message;
    super([subject, problem, advice].filter((part) => part !== "").join(" "), options);
    this.code = code;
    this.subject = subject;
    this.problem = problem;
    this.advice = advice;
  }

  /** Whether `value` is a ChannelzError, and has this code if one is given; also across copies of this package. */
  static is(value: unknown, code?: ChannelzErrorCode): value is ChannelzError {
    return (
      value instanceof Error &&
      value.name === "ChannelzError" &&
      "code" in value &&
      (code === undefined || value.code === code)
    );
  }
}
