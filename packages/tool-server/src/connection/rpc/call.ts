import type { CallPhases } from "../../call-phases.js";
import { Canceller } from "../../cancellation.js";
import type { RequestId, RpcErrorObject, RpcObject } from "./json-rpc.js";
import type { Era } from "./protocol.js";

/** The server that a call is forwarded to, and the name of its subject there: of a tool or prompt, or a URI. */
export interface CallRoute {
  readonly server: string;
  readonly name: string | undefined;
}

/** How a call ended. The status is that of HTTP. */
export type CallOutcome =
  | { readonly result: RpcObject; readonly error?: undefined }
  | { readonly error: RpcErrorObject; readonly status: number; readonly result?: undefined };

export interface CallRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params?: RpcObject | undefined;
}

/**
 * One request, from the moment it is parsed until its response is written. It is its own cancellation: cancelled without a reason,
 * nobody expects a response, because the caller cancelled it or is gone; else the reason is the response.
 */
export class Call extends Canceller {
  readonly id: RequestId;
  readonly method: string;
  /** As the caller sent them. */
  readonly params: RpcObject;
  /** The era of the protocol that the caller speaks. */
  readonly era: Era;
  /**
   * When it was accepted, sent, progressed, or the caller responded to the server, whichever was last; by `performance.now()`.
   */
  activeAt = 0;
  /** Whether it was sent to the server, and may have arrived. */
  wasSent = false;
  /** Whether it waits for a connection to the server, because all that may be open are in use. */
  isQueued = false;
  /** Requests of the server that the caller has not responded to: meanwhile no progress is expected from the server. */
  openRequests = 0;
  /** Receives what the call waits for; undefined if nothing observes it. */
  phases: CallPhases | undefined = undefined;
  #route: CallRoute | undefined = undefined;
  #outcome: CallOutcome | undefined = undefined;

  constructor({ id, method, params = {} }: CallRequest, era: Era) {
    super();
    this.id = id;
    this.method = method;
    this.params = params;
    this.era = era;
  }

  get route(): CallRoute | undefined {
    return this.#route;
  }

  /** Sets where it is forwarded to. A call that was sent goes the same way if it is dispatched again. */
  setRoute(server: string, name: string | undefined): void {
    if (!this.wasSent) this.#route = undefined;
    if (this.#route !== undefined && this.#route.server !== server) throw new TypeError("The call has another route.");
    this.#route ??= { server, name };
  }

  get outcome(): CallOutcome | undefined {
    return this.#outcome;
  }

  /** Whether it was cancelled without a reason: the caller cancelled it or is gone, so nobody expects a response. */
  get isAbandoned(): boolean {
    return this.aborted && this.reason === undefined;
  }

  /** Ends it, once, and cancels everything that still runs for it. */
  settle(outcome: CallOutcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.cancel(callEnded);
  }

  /** Receives the server's progress, without the token. */
  onProgress(_progress: RpcObject): void {}

  /**
   * Receives progress that arrives after the response, of a task that the call created. Must not keep the call in memory. Undefined if
   * the caller expects none.
   */
  taskProgress(): ((progress: RpcObject) => void) | undefined {
    return undefined;
  }
}

/** The reason for cancelling everything about a call that has ended. */
export const callEnded: Error = new Error("The call has ended.");
