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

/** Why a server drains: what a reload did to it. */
export type DrainReason = "changed" | "removed";

export type CallsInFlight = Iterable<ClientCall> & Pick<ReadonlySet<ClientCall>, "has" | "size">;

export interface ServerCalls {
  readonly all: CallsInFlight;
  /** How many of them were sent to the server, and may have arrived. */
  countSent(): number;
  /** Throws an RpcError if the server has reached a limit, and CONNECTION_CLOSED once it drains. */
  add(call: ClientCall): void;
  remove(call: ClientCall): void;
  /** Why a call failed: `error`, unless a reload meanwhile replaced or removed the server, and the call was not sent. */
  failureOf(call: ClientCall, error: unknown): unknown;
  /** Cancels calls during which the server has been silent for longer than `callIdleMs`, and those that have waited as long to be sent. */
  cancelOverdue(): void;
  /**
   * Accepts no more calls. After `drainMs`, calls in flight are cancelled. Resolves when all have ended, or right after that; at once
   * if none of them was sent, because they need not wait for a connection to this server.
   */
  drain(why: DrainReason): Promise<void>;
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
  let drainReason: DrainReason | undefined;
  let onDrained = (): void => {};

  const overloaded = (limit: "concurrency" | "rate"): RpcError => {
    const reached =
      limit === "concurrency" ? `${limits.serverConcurrency} calls in flight` : `${limits.serverRate} calls per second`;
    const message = `Server ${JSON.stringify(server)} has reached its limit of ${reached}. Try again later.`;
    events.emit({ kind: "refused", limit: `server-${limit}`, reason: message });
    return new RpcError(rpcCodes.failed, message, { data: { reason: "OVERLOADED" } });
  };

  const countSent = (): number => [...all].filter(({ wasSent }) => wasSent).length;

  return {
    all,
    countSent,
    add(call) {
      if (drainReason !== undefined) throw notCalled(server, drainReason);
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
    failureOf: (call, error) =>
      drainReason === undefined || call.wasSent || call.aborted ? error : notCalled(server, drainReason),
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
    drain(why) {
      drainReason = why;
      if (countSent() === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const stopTimer = clock.after(limits.drainMs, () => {
          for (const call of all) call.cancel(notDrained(server, call, why, limits.drainMs));
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

/** A request was not sent, because a reload had just replaced its server: it can be sent to the new one. */
export class ServerReplacedError extends ToolServerError {}

/** The failure of a call that was not sent because of a reload. */
export function notCalled(server: string, why: DrainReason): ToolServerError {
  const what = why === "removed" ? "removed from" : "changed in";
  const problem = `The server ${JSON.stringify(server)} was just ${what} the configuration, and was not called.`;
  const options = { details: { wasSent: false } };
  if (why === "removed") return new ToolServerError("CONNECTION_CLOSED", { problem, advice: "" }, options);
  return new ServerReplacedError("CONNECTION_CLOSED", { problem, advice: "Call again." }, options);
}

function notDrained(
  server: string,
  { method, wasSent }: ClientCall,
  why: DrainReason,
  drainMs: number,
): ToolServerError {
  const during = `The server ${JSON.stringify(server)} was ${why} in the configuration during ${method}.`;
  const problem = wasSent
    ? `${during} The call did not end within ${describeDuration(drainMs)} and was cancelled.`
    : `${during} The call was not sent within ${describeDuration(drainMs)} and was cancelled.`;
  const again = why === "changed" ? "Call again." : "";
  const advice = wasSent ? "Check what the call did before you repeat it, or increase the limit drainMs." : again;
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice }, { details: { wasSent } });
}
