import type { ConnectionInfo, SocketInfo, TransportInfo } from "./connection-info.js";

/**
 * What a call waits for. `queued`: a free connection. `credential`: headers. `connecting`: a session or a socket, which consists of `lookup`
 * (DNS), `tcp`, `proxy` (a tunnel) and `tls`. `request`: its bytes are written. `server`: until the response starts, the network
 * included. `response`: the rest of the response.
 */
export type CallPhase =
  | "queued"
  | "credential"
  | "connecting"
  | "lookup"
  | "tcp"
  | "proxy"
  | "tls"
  | "request"
  | "server"
  | "response";

/** The object that a phase concerns. */
export type PhaseSubject = ConnectionInfo | TransportInfo | SocketInfo;

/**
 * Receives the phases of one call while they happen. Phases may be nested. Implementations must not throw, and must be fast: several are
 * reported for each call.
 */
export interface CallPhases {
  /** A phase begins. Of `request`, `server` and `response`, each ends the one before. */
  begin(phase: CallPhase, subject?: PhaseSubject): void;
  /**
   * Ends a phase and everything within it; nothing happens if it is not open. `response` ends `request` and `server` too. The subject is
   * often known only at the end.
   */
  end(phase: CallPhase, subject?: PhaseSubject): void;
  /** The request is sent again: all open phases have failed. The reason is redacted. */
  retry(reason: string): void;
}
