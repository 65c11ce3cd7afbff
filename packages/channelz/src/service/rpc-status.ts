import { Code, ConnectError } from "@connectrpc/connect";
import { ChannelzError, type ChannelzErrorCode } from "../errors.js";

/** The gRPC status of a call; Connect uses the same code numbers. */
export interface RpcStatus {
  readonly code: Code;
  readonly message: string;
}

/** Codes without an entry are about the setup of this process; clients get only INTERNAL. */
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
  message: "The source of this Channelz service failed. The reason is not sent to clients.",
};

/** The status for an error of a source, whatever its type. Reveals nothing about errors that are not meant for clients. */
export function rpcStatusOf(error: unknown): RpcStatus {
  if (ChannelzError.is(error)) {
    const code = codes[error.code];
    return code === undefined ? internal : { code, message: error.message };
  }
  if (error instanceof ConnectError) return { code: error.code, message: error.rawMessage };
  return internal;
}

/** The same, as an error for Connect's router; the cause is not sent. */
export function connectErrorOf(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const { code, message } = rpcStatusOf(error);
  return new ConnectError(message, code, undefined, undefined, error);
}
