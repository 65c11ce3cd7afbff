import { type Clock, ToolServerError } from "@wirescope/tool-server";
import {
  describeDuration,
  InFlightSet,
  noResponse,
  notSent,
  RpcError,
  rpcCodes,
} from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { GatewayEvents } from "../events.js";
import { createRates, type GatewayLimits } from "../limits.js";

export type CallsInFlight = Iterable<ClientCall> & Pick<ReadonlySet<ClientCall>, "has" | "size">;

export interface ServerCalls {
  readonly all: CallsInFlight;
  /** Throws an RpcError if the server has reached a limit, and CONNECTION_CLOSED once it drains. */
  add(call: ClientCall): void;
  remove(call: ClientCall): void;
  /** Cancels calls during which the server has been silent for longer than `callIdleMs`, and those that have waited as long to be sent. */
  cancelOverdue(): void;
  /**
   * Accepts no more calls, and cancels those that were not sent; the others after `drainMs`. Resolves when all have ended, or right
   * after that.
   */
  drain(): Promise<void>;
}

export interface ServerCallsOptions {
  readonly server: string;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly events: Pick<GatewayEvents, "emit">;
}

export function createServerCalls({ server, limits, clock, events }: ServerCallsOptions): ServerCalls {
  const all = new InFlightSet<ClientCall>();
  const rates = createRates(limits.serverRate, () => clock.now());
  let isDraining = false;
  let onDrained = (): void => {};

  const overloaded = (limit: "concurrency" | "rate"): RpcError => {
    const reached =
      limit === "concurrency" ? `${limits.serverConcurrency} calls in flight` : `${limits.serverRate} calls per second`;
    const message = `Server ${JSON.stringify(server)} has reached its limit of ${reached}. Try again later.`;
    events.emit({ kind: "refused", limit: `server-${limit}`, reason: message });
    return new RpcError(rpcCodes.failed, message, { data: { reason: "OVERLOADED" } });
  };

  return {
    all,
    add(call) {
      if (isDraining) throw notCalled(server);
      if (all.size >= limits.serverConcurrency) throw overloaded("concurrency");
      if (!rates.take("")) throw overloaded("rate");
      call.activeAt = performance.now();
      call.wasSent = false;
      all.add(call);
    },
    remove(call) {
      all.delete(call);
      if (all.size === 0) onDrained();
    },
    cancelOverdue() {
      const now = performance.now();
      for (const call of all) {
        if (call.openRequests > 0 || now - call.activeAt < limits.callIdleMs) continue;
        const failure = call.wasSent
          ? noResponse(server, call.method, limits.callIdleMs)
          : notSent(server, call, limits.callIdleMs);
        call.cancel(failure);
      }
    },
    drain() {
      isDraining = true;
      for (const call of all) if (!call.wasSent) call.cancel(notCalled(server));
      if (all.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const stopTimer = clock.after(limits.drainMs, () => {
          for (const call of all)
            call.cancel(call.wasSent ? notDrained(server, call.method, limits.drainMs) : notCalled(server));
          onDrained();
        });
        onDrained = () => {
          stopTimer();
          resolve();
        };
      });
    },
  };
}

/** The failure of a call that was not sent, because a reload replaced or removed its server. */
export function notCalled(server: string): ToolServerError {
  const problem = `The server ${JSON.stringify(server)} was just changed or removed in the configuration, and was not called.`;
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice: "Call again." }, { details: { wasSent: false } });
}

function notDrained(server: string, method: string, drainMs: number): ToolServerError {
  const during = `The server ${JSON.stringify(server)} was changed or removed in the configuration during ${method}.`;
  const problem = `${during} The call did not end within ${describeDuration(drainMs)} and was cancelled.`;
  const advice = "Check what the call did before you repeat it, or increase the limit drainMs.";
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice }, { details: { wasSent: true } });
}
