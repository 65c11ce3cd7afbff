import { ToolServerError } from "@wirescope/tool-server";
import type { RpcFault } from "./json-rpc.js";

/** The codes that the gateway itself answers with. */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  /** What the transport refuses, and what a server behind the gateway failed to do. */
  failed: -32_000,
  sessionNotFound: -32_001,
  headerMismatch: -32_020,
  capabilityMissing: -32_021,
  versionUnsupported: -32_022,
} as const;

/** A request that is answered with an error of JSON-RPC. Its message is for the client to read, and holds no secret. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;
  /** The status of HTTP that goes with it; 200 where the error is the answer of a method. */
  readonly status: number;

  constructor(code: number, message: string, options: { readonly data?: unknown; readonly status?: number } = {}) {
    super(message);
    this.code = code;
    this.data = options.data;
    this.status = options.status ?? 200;
  }
}

/** A failure as it is told to a client: what a server behind said, what became of it, or nothing of a defect of ours. */
export function faultOf(error: unknown): RpcFault {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return data === undefined ? { code, message } : { code, message, data };
  }
  if (ToolServerError.is(error)) {
    const { rpcCode, rpcData } = error.details;
    if (error.code === "CALL_REFUSED" && rpcCode !== undefined) {
      // What a server answers where it does not know a resource had a code of its own once.
      const code = rpcCode === -32_002 ? rpcCodes.invalidParams : rpcCode;
      return rpcData === undefined ? { code, message: error.message } : { code, message: error.message, data: rpcData };
    }
    return { code: rpcCodes.failed, message: error.message, data: { reason: error.code } };
  }
  return { code: rpcCodes.internalError, message: "Internal error of the gateway." };
}

/** The status of HTTP that an error is sent with. */
export function statusOf(error: unknown): number {
  if (error instanceof RpcError) return error.status;
  // The one error of a method whose status the protocol demands.
  const isMissing = ToolServerError.is(error) && error.details.rpcCode === rpcCodes.capabilityMissing;
  return isMissing ? 400 : 200;
}
