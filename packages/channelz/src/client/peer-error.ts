import { Code, ConnectError } from "@connectrpc/connect";
import { ChannelzError, type ChannelzErrorCode, type ChannelzErrorParts } from "../errors.js";
import { printableText } from "../text/printable-text.js";

/** The call and the peer, for error messages. */
export interface PeerCall {
  /** The full name of the method, such as `rpc.channelz.v1.Channelz/GetSocket`. */
  readonly method: string;
  /** What the call is about, such as `socket 12`. */
  readonly subject?: string | undefined;
  /** The peer, such as `127.0.0.1:4690`. Default: "the peer". */
  readonly peer?: string | undefined;
  /** Whether the caller cancelled before the response arrived. */
  readonly abandoned?: boolean | undefined;
  /** The timeout of the call, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Returns advice for a failed connection, if the dialler knows any; it gets the root cause. */
  readonly adviseOnConnection?: ((cause: unknown) => string | undefined) | undefined;
}

const maxRemoteTextLength = 500;

/** What to do if a peer responds, but does not serve Channelz. */
export const channelzAdvice =
  "Check the port, and that the process serves Channelz there. No gRPC library does by default; docs/switch-on.md says how to switch it on.";

const codes: Readonly<Record<Code, ChannelzErrorCode>> = {
  [Code.Canceled]: "PEER_UNAVAILABLE",
  [Code.Unknown]: "PEER_FAILED",
  [Code.InvalidArgument]: "INVALID_ARGUMENT",
  [Code.DeadlineExceeded]: "PEER_TIMEOUT",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "PEER_FAILED",
  [Code.PermissionDenied]: "PEER_REFUSED",
  [Code.ResourceExhausted]: "PEER_FAILED",
  [Code.FailedPrecondition]: "PEER_FAILED",
  [Code.Aborted]: "PEER_UNAVAILABLE",
  [Code.OutOfRange]: "INVALID_ARGUMENT",
  [Code.Unimplemented]: "PEER_WITHOUT_CHANNELZ",
  [Code.Internal]: "PEER_FAILED",
  [Code.Unavailable]: "PEER_UNAVAILABLE",
  [Code.DataLoss]: "PEER_FAILED",
  [Code.Unauthenticated]: "PEER_REFUSED",
};

/** Converts any rejection of a call to a peer to a ChannelzError; one that is already a ChannelzError is returned unchanged. */
export function peerError(reason: unknown, call: PeerCall): ChannelzError {
  const chain = causeChain(reason);
  const known = chain.find((link) => ChannelzError.is(link));
  if (known !== undefined) return known;
  const error = ConnectError.from(reason instanceof Error ? reason : messageOf(reason));
  const code = codeOf(error, chain, call);
  return new ChannelzError(code, describe(code, error, chain, call), { cause: reason });
}

function codeOf(error: ConnectError, chain: readonly unknown[], call: PeerCall): ChannelzErrorCode {
  if (call.abandoned) return "PEER_TIMEOUT";
  const code = codes[error.code] ?? "PEER_FAILED";
  // A socket, a TLS handshake or an HTTP/2 session that fails below the call reaches us as INTERNAL or UNKNOWN.
  return code === "PEER_FAILED" && chain.some(isConnectionFailure) ? "PEER_UNAVAILABLE" : code;
}

function describe(
  code: ChannelzErrorCode,
  error: ConnectError,
  chain: readonly unknown[],
  call: PeerCall,
): ChannelzErrorParts {
  const named = call.peer === undefined ? undefined : printableText(call.peer);
  const subject = named ?? "The peer";
  const message = printableText(error.rawMessage, maxRemoteTextLength);
  const said = message === "" ? "" : ` It says: "${message}".`;
  switch (code) {
    case "NOT_FOUND":
      return { subject, problem: `has no ${call.subject ?? "such object"}.${said}` };
    case "INVALID_ARGUMENT":
      return { subject, problem: `does not accept the request ${call.method}.${said}` };
    case "PEER_TIMEOUT": {
      if (call.abandoned) {
        return { problem: `The caller aborted ${call.method} before ${named ?? "the peer"} responded.` };
      }
      const within = call.timeoutMs ? `within ${call.timeoutMs} ms` : "in time";
      const advice = "Increase the timeout, or check that it is a gRPC port and not overloaded.";
      return { subject, problem: `did not respond to ${call.method} ${within}.`, advice };
    }
    case "PEER_REFUSED":
      return error.code === Code.Unauthenticated
        ? {
            subject,
            problem: `requires authentication.${said}`,
            advice: "Pass the bearer token or client certificate that it expects.",
          }
        : { subject, problem: `denied access.${said}`, advice: "Ask its operator for access." };
    case "PEER_WITHOUT_CHANNELZ":
      return { subject, problem: `does not serve ${call.method}.${said}`, advice: channelzAdvice };
    case "PEER_UNAVAILABLE": {
      const root = chain.at(-1);
      const advice = call.adviseOnConnection?.(root) ?? "Check that the process runs and listens there.";
      const why = printableText(messageOf(root) || error.rawMessage, maxRemoteTextLength);
      return { subject, problem: `cannot be reached: ${why.replace(/\.$/, "")}.`, advice };
    }
    default:
      return { subject, problem: `failed at ${call.method} (${Code[error.code] ?? error.code}).${said}` };
  }
}

/** An error and its causes, outermost first. */
function causeChain(reason: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let link = reason; link !== undefined && link !== null && !chain.includes(link); ) {
    chain.push(link);
    link = typeof link === "object" && "cause" in link ? link.cause : undefined;
  }
  return chain;
}

/** Node's system errors have a code such as `ECONNREFUSED`; `fetch` rejects with a TypeError for all of them. */
function isConnectionFailure(value: unknown): boolean {
  return value instanceof TypeError || (value instanceof Error && "code" in value && typeof value.code === "string");
}

function messageOf(value: unknown): string {
  if (value instanceof ConnectError) return value.rawMessage;
  // If a name has several addresses, Node tries each, and its own error has no message.
  if (value instanceof AggregateError && value.message === "") return value.errors.map(messageOf).join("; ");
  // OpenSSL's message is an entry of its error queue, with an address and a file; its reason is readable.
  if (value instanceof Error && "library" in value && "reason" in value) {
    return String(value.reason);
  }
  if (value instanceof Error) return value.message;
  return typeof value === "object" ? "" : String(value ?? "");
}
