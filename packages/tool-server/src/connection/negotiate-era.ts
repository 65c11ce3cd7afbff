import { type Client, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import type { ToolTransport } from "../transports/transport.js";

/** Which era of the protocol a server was found to speak; kept from one transport to the next. */
export interface EraMemory {
  isLegacy: boolean;
  /** Whether the last transport ended, or was silent, at the question for the newer era: some servers do at what they do not know. */
  failedAtProbe: boolean;
}

/** A memory that knows nothing yet. */
export function createEraMemory(): EraMemory {
  return { isLegacy: false, failedAtProbe: false };
}

/** Connects in the era that the server speaks: it is asked for the newer one first, unless it is known to speak the older. */
export async function connectClient(
  client: Client,
  transport: ToolTransport,
  era: EraMemory,
  timeoutMs: number,
): Promise<void> {
  // The old transport of two legs is older than the newer era.
  const isLegacy = era.isLegacy || era.failedAtProbe || transport.kind === "sse";
  try {
    await client.connect(transport, { timeout: timeoutMs, ...(isLegacy ? { prior: { kind: "legacy" } } : {}) });
    era.isLegacy = client.getProtocolEra() === "legacy";
    era.failedAtProbe = false;
  } catch (error) {
    era.isLegacy = false;
    era.failedAtProbe = !isLegacy && hasOneWire(transport) && (transport.failure !== undefined || isTimeout(error));
    throw error;
  }
}

/** Where all requests share one wire, the server can end it; elsewhere a refused question is an answer. */
function hasOneWire(transport: ToolTransport): boolean {
  return transport.kind === "stdio" || transport.kind === "ws";
}

function isTimeout(error: unknown): boolean {
  return SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout;
}
