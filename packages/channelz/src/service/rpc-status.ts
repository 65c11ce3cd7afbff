import { Code, ConnectError } from "@connectrpc/connect";
import { ChannelzError, type ChannelzErrorCode } from "../errors.js";

/** How a call ended, in the terms of gRPC; Connect's codes are the same numbers. */
export interface RpcStatus {
  readonly code: Code;
  readonly message: string;
}

/** Codes without an entry say how this process is built or set up; a caller learns no more of them than INTERNAL. */
const codes: Readonly<Partial<Record<ChannelzErrorCode, Code>>> = {
  NOT_FOUND: Code.NotFound,
  INVALID_ARGUMENT: Code.InvalidArgument,
  PEER_UNAVAILABLE: Code.Unavailable,
  PEER_WITHOUT_CHANNELZ: Code.Unimplemented,
  PEER_REFUSED: Code.PermissionDenied,
  PEER_TIMEOUT: Code.DeadlineExceeded,
  PEER_FAILED: Code.Unknown,
};

const internal: RpcStatus = {
  code: Code.Internal,
  message: "The source of this Channelz service failed. Its own process knows the reason; callers do not get it.",
};

/** The status that a caller gets for what a source threw. Total; reveals nothing of an error that is not meant for callers. */
export function rpcStatusOf(error: unknown): RpcStatus {
  if (ChannelzError.is(error)) {
    const code = codes[error.code];
    return code === undefined ? internal : { code, message: error.message };
  }
  if (error instanceof ConnectError) return { code: error.code, message: error.rawMessage };
  return internal;
}

/** The same as an error for Connect's router; the cause stays in this process. */
export function connectErrorOf(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const { code, message } = rpcStatusOf(error);
  return new ConnectError(message, code, undefined, undefined, error);
}
