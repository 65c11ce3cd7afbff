import { type Client, ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import type { ToolTransport } from "./transports/transport.js";

/** Which era of the protocol a server was found to speak; kept from one transport to the next. */
export interface EraMemory {
  isLegacy: boolean;
  /** Whether the last transport ended, or was silent, at the question for the newer era: some servers do at what they do not know. */
  failedAtProbe: boolean;
  /** Whether it was taken for older because it was silent, and was not: it takes long to begin. */
  isSlow: boolean;
  /** Whether another transport, opened at once, may do better than the last. */
  isWorthAnother: boolean;
}

/** A memory that knows nothing yet. */
export function createEraMemory(): EraMemory {
  return { isLegacy: false, failedAtProbe: false, isSlow: false, isWorthAnother: false };
}

/** How long a handshake and its first question may take, in milliseconds. */
export interface HandshakeTimes {
  readonly timeoutMs: number;
  readonly probeMs: number;
}

/**
 * How long the question for the newer protocol waits. Over one socket silence means the older one: some servers never response
 * what they do not know, and time must be left to ask them in the older way. Elsewhere it is a failure.
 */
export function handshakeTimes(transport: ToolTransport, era: EraMemory, timeoutMs: number): HandshakeTimes {
  if (!hasOneWire(transport)) return { timeoutMs, probeMs: timeoutMs };
  return {
    timeoutMs,
    probeMs: era.isSlow ? timeoutMs * 0.9 : Math.min(timeoutMs / 2, silenceMs[transport.kind] ?? 3000),
  };
}

/** A process needs its time to start, also on a machine that is busy; a WebSocket is there once it is open. */
const silenceMs: Readonly<Partial<Record<ToolTransport["kind"], number>>> = { stdio: 8000, ws: 3000 };

/** Connects in the era that the server speaks: it is asked for the newer one first, unless it is known to speak the older. */
export async function connectClient(
  client: Client,
  transport: ToolTransport,
  era: EraMemory,
  { timeoutMs, probeMs }: HandshakeTimes,
): Promise<void> {
  // The old transport of two legs is older than the newer era.
  const isLegacy = era.isLegacy || era.failedAtProbe || transport.kind === "sse";
  const start = Date.now();
  era.isWorthAnother = false;
  try {
    await client.connect(transport, { timeout: timeoutMs, ...(isLegacy ? { prior: { kind: "legacy" } } : {}) });
    era.isLegacy = client.getProtocolEra() === "legacy";
    era.failedAtProbe = false;
  } catch (error) {
    const mayBeEra = !isLegacy && hasOneWire(transport);
    const wasSilent = Date.now() - start >= probeMs;
    era.isLegacy = false;
    era.failedAtProbe = mayBeEra && (transport.failure !== undefined || isTimeout(error));
    const wasSlow = mayBeEra && !era.isSlow && wasSilent && ProtocolError.isInstance(error);
    if (wasSlow) era.isSlow = true;
    era.isWorthAnother = wasSlow || era.failedAtProbe;
    throw error;
  }
}

/** Where all requests share one socket, the server can end it; elsewhere a refused question is a response. */
function hasOneWire(transport: ToolTransport): boolean {
  return transport.kind === "stdio" || transport.kind === "ws";
}

function isTimeout(error: unknown): boolean {
  return SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout;
}
