import { Code, type ConnectError } from "@connectrpc/connect";

/** The response of a server that does not speak gRPC: an HTTP error or a page. It is the cause of our transport's ConnectError. */
export class ForeignResponse extends Error {
  override readonly name = "ForeignResponse";
  /** The HTTP status. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Whether a server rejected a call with an HTTP status of the caller's fault, or with a page: it serves no gRPC there. */
export function isForeignRefusal(error: ConnectError): boolean {
  if (error.code !== Code.Unknown) return false;
  const { cause, rawMessage } = error;
  if (cause instanceof ForeignResponse) return cause.status === 200 || (cause.status >= 400 && cause.status < 500);
  return connectRefusal.test(rawMessage);
}

/**
 * The messages of connect-es 2, whose version is pinned: the transports of browsers have no field for the HTTP status, and not all
 * keep the headers. The whole message must match, except for the content type at its end, because a peer chooses other messages.
 */
const connectRefusal = /^(?:HTTP 4\d\d$|unsupported content type )/;
