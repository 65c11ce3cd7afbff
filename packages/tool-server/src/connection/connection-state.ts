import type { ConnectivityState } from "../connection-info.js";
import type { ToolServerError } from "../errors.js";
import type { ClientSession } from "./client-session.js";

/** Where a connection stands. */
export type ConnectionState =
  /** Nothing is open; the next call opens it. */
  | { readonly kind: "idle" }
  | { readonly kind: "connecting"; readonly session: Promise<ClientSession>; readonly cancel: () => void }
  | { readonly kind: "ready"; readonly session: ClientSession }
  /** It failed, and rests until `retryAt`. */
  | {
      readonly kind: "failing";
      readonly error: ToolServerError;
      readonly retryAt: number;
      readonly callOff: () => void;
    }
  | { readonly kind: "closed" };

const words = {
  idle: "IDLE",
  connecting: "CONNECTING",
  ready: "READY",
  failing: "TRANSIENT_FAILURE",
  closed: "SHUTDOWN",
} as const satisfies Record<ConnectionState["kind"], ConnectivityState>;

/** The state in the words of Channelz. */
export function connectivityOf(state: ConnectionState): ConnectivityState {
  return words[state.kind];
}
