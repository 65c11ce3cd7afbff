import { type Client, ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { ToolServerError, type ToolServerErrorCode } from "../errors.js";
import { rpcCodes } from "./rpc/json-rpc.js";
import type { ToolTransport } from "./transports/transport.js";

/** The era of a server as detected; kept from one transport to the next. */
export interface EraMemory {
  isLegacy: boolean;
  /** Whether it used the newer era at the last handshake, or refused the older one: then a failed probe has another reason. */
  isModern: boolean;
  /** Whether only the older era is used, even if the server supports the newer one. */
  readonly isFixed: boolean;
  /** Whether the last transport closed or did not respond to the probe for the newer era, as some servers do with unknown methods. */
  failedAtProbe: boolean;
  /** Whether it was taken for the older era because it did not respond, and is not: it starts slowly. */
  isSlow: boolean;
  /** Whether a retry over a new transport may succeed. */
  shouldRetry: boolean;
}

/** An empty memory. `isFixed`: the older era is used, without a probe. */
export function createEraMemory(isFixed: boolean): EraMemory {
  return { isLegacy: isFixed, isModern: false, isFixed, failedAtProbe: false, isSlow: false, shouldRetry: false };
}

/**
 * The time limit of the probe for the newer era, within that of the handshake. On a shared socket no response means the older era, because some servers ignore
 * unknown methods, and time must be left for the older handshake. Otherwise it is a failure.
 */
export function probeTimeoutMs(transport: ToolTransport, era: EraMemory, timeoutMs: number): number {
  if (!sharesOneSocket(transport)) return timeoutMs;
  // A process takes time to start, especially on a busy machine; a WebSocket is ready when it opens.
  const maxMs = transport.kind === "stdio" ? 8000 : 3000;
  return era.isSlow ? timeoutMs * 0.9 : Math.min(timeoutMs / 2, maxMs);
}

/** Connects in the server's era: probes for the newer one first, unless the server is known to use the older. */
export async function connectClient(
  client: Client,
  transport: ToolTransport,
  era: EraMemory,
  timeoutMs: number,
  probeMs: number,
): Promise<void> {
  // The SSE transport is older than the newer era.
  const isLegacy = era.isLegacy || era.failedAtProbe || transport.kind === "sse";
  const start = Date.now();
  era.shouldRetry = false;
  try {
    await client.connect(transport, { timeout: timeoutMs, ...(isLegacy ? { prior: { kind: "legacy" } } : {}) });
    era.isLegacy = client.getProtocolEra() === "legacy";
    era.isModern = !era.isLegacy;
    era.failedAtProbe = false;
  } catch (error) {
    const mayBeEra = !isLegacy && sharesOneSocket(transport);
    const wasSilent = Date.now() - start >= probeMs;
    const isRefused = ProtocolError.isInstance(error);
    const isProbeNeeded = isLegacy && era.failedAtProbe && isRefused && unknownHandshake.has(error.code);
    era.isLegacy = era.isFixed;
    const hasClosed = ToolServerError.is(transport.failure) && closed.has(transport.failure.code);
    era.failedAtProbe = mayBeEra && !era.isModern && (hasClosed || isTimeout(error));
    era.isModern = isProbeNeeded;
    const wasSlow = mayBeEra && !era.isSlow && wasSilent && isRefused;
    if (wasSlow) era.isSlow = true;
    era.shouldRetry = wasSlow || isProbeNeeded || era.failedAtProbe;
    throw error;
  }
}

/** How a transport fails if the server ends it. One that sent what is no message would do so again. */
const closed: ReadonlySet<ToolServerErrorCode> = new Set<ToolServerErrorCode>(["CHILD_EXITED", "CONNECTION_LOST"]);

/** How a server refuses the handshake of the older era if it does not support that. */
const unknownHandshake: ReadonlySet<number> = new Set([
  rpcCodes.methodNotFound,
  rpcCodes.versionUnsupported,
  rpcCodes.invalidRequest,
]);

/** If all requests share one socket, the server may close it; otherwise a rejected probe is a response. */
function sharesOneSocket(transport: ToolTransport): boolean {
  return transport.kind === "stdio" || transport.kind === "ws";
}

function isTimeout(error: unknown): boolean {
  return SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout;
}
