import { ToolServerError } from "../../errors.js";
import type { RpcFault } from "./json-rpc.js";

/** The codes that the gateway itself responds with. */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  /** The transport refused it, or a server behind the gateway failed. */
  failed: -32_000,
  sessionNotFound: -32_001,
  headerMismatch: -32_020,
  capabilityMissing: -32_021,
  versionUnsupported: -32_022,
} as const;

/** A request whose response is an error of JSON-RPC. The message is for the client to read, and holds no secret. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;
  /** The HTTP status of the response; 200 if a method failed. */
  readonly status: number;

  constructor(code: number, message: string, options: { readonly data?: unknown; readonly status?: number } = {}) {
    super(message);
    this.code = code;
    this.data = options.data;
    this.status = options.status ?? 200;
  }
}

/** A failure as it is sent to a client. What a defect of ours says is not. */
export function faultOf(error: unknown): RpcFault {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return data === undefined ? { code, message } : { code, message, data };
  }
  if (ToolServerError.is(error)) {
    const { rpcCode, rpcData } = error.details;
    if (error.code === "CALL_REFUSED" && rpcCode !== undefined) {
      // Earlier versions of the protocol had a code of their own for an unknown resource.
      const code = rpcCode === -32_002 ? rpcCodes.invalidParams : rpcCode;
      return rpcData === undefined ? { code, message: error.message } : { code, message: error.message, data: rpcData };
    }
    return { code: rpcCodes.failed, message: error.message, data: { reason: error.code } };
  }
  return { code: rpcCodes.internalError, message: "Internal error of the gateway." };
}

/** The HTTP status that an error is sent with. */
export function statusOf(error: unknown): number {
  if (error instanceof RpcError) return error.status;
  // The only error of a method for which the protocol demands a status.
  const isMissing = ToolServerError.is(error) && error.details.rpcCode === rpcCodes.capabilityMissing;
  return isMissing ? 400 : 200;
}

const maxQuotedLength = 200;

/** A string of a client in quotes, for messages of ours; cut if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text);
}
