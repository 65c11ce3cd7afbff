import { type Clock, ToolServerError } from "@wirescope/tool-server";
import { RpcError, rpcCodes, TransientSet } from "@wirescope/tool-server/rpc";
import { type Admission, createAdmission } from "../admission.js";
import type { Caller } from "../clients/caller.js";
import type { GatewayLimits } from "../limits.js";
import { UpstreamCall } from "./upstream-call.js";

/** What became of a server in the configuration. */
export type Departure = "changed" | "removed";

export type CallsInFlight = Iterable<UpstreamCall> & Pick<ReadonlySet<UpstreamCall>, "has" | "size">;

/** The calls of one server that are under way. */
export interface UpstreamCalls {
  readonly all: CallsInFlight;
  /** Begins one. Throws an RpcError where the server has as many as it gets, and CONNECTION_CLOSED once it drains. */
  begin(caller: Caller, method: string): UpstreamCall;
  end(call: UpstreamCall): void;
  /** Calls off what the server is silent about for longer than `callIdleMs`. */
  callOffSilent(): void;
  /** Begins none any more. Resolves when all have ended: after `drainMs` they are called off, and told why. */
  drain(why: Departure): Promise<void>;
}

export interface UpstreamCallsOptions {
  /** The name of the server. */
  readonly server: string;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
}

export function createUpstreamCalls({ server, limits, clock }: UpstreamCallsOptions): UpstreamCalls {
  const all = new TransientSet<UpstreamCall>();
  const admission: Admission = createAdmission({
    concurrency: limits.serverConcurrency,
    rate: limits.serverRate,
    now: () => clock.now(),
  });
  let departure: Departure | undefined;
  let onDrained = (): void => {};

  return {
    all,
    begin(caller, method) {
      if (departure !== undefined) throw tooLate(server, departure);
      const full = admission.enter();
      if (full !== undefined) throw overloaded(server, full, limits);
      const call = new UpstreamCall(caller, server, method);
      call.activeAt = clock.now();
      all.add(call);
      return call;
    },
    end(call) {
      all.delete(call);
      admission.leave();
      if (all.size === 0) onDrained();
    },
    callOffSilent() {
      const now = clock.now();
      for (const call of all) {
        const isSilent = call.openQuestions === 0 && now - call.activeAt >= limits.callIdleMs;
        if (isSilent) call.caller.callOff.off(silent(call, limits.callIdleMs));
      }
    },
    drain(why) {
      departure = why;
      if (all.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const forget = clock.after(limits.drainMs, () => {
          for (const call of all) call.caller.callOff.off(outOfTime(call, why, limits.drainMs));
          onDrained();
        });
        onDrained = () => {
          forget();
          resolve();
        };
      });
    },
  };
}

function overloaded(server: string, limit: "concurrency" | "rate", limits: GatewayLimits): RpcError {
  const who = `The server ${JSON.stringify(server)}`;
  const what =
    limit === "concurrency"
      ? `${who} has ${limits.serverConcurrency} calls in flight, which is the most that it gets.`
      : `${who} gets at most ${limits.serverRate} calls in a second.`;
  return new RpcError(rpcCodes.failed, `${what} Call again later.`, { data: { reason: "OVERLOADED" } });
}

function silent({ server, method }: UpstreamCall, idleMs: number): ToolServerError {
  return new ToolServerError(
    "CALL_TIMEOUT",
    `The server ${JSON.stringify(server)} neither answered ${method} nor told of progress for ${Math.round(idleMs / 100) / 10} s. ` +
      "It was told to stop. Allow more time, or look at what the server does.",
    { details: { wasSent: true } },
  );
}

/** That a call found a server which went out of use a moment before. */
function tooLate(server: string, why: Departure): ToolServerError {
  const message = `The server ${JSON.stringify(server)} was just ${why} in the configuration, and was not called. Call again.`;
  return new ToolServerError("CONNECTION_CLOSED", message, { details: { wasSent: false } });
}

function outOfTime({ server, method }: UpstreamCall, why: Departure, drainMs: number): ToolServerError {
  return new ToolServerError(
    "CONNECTION_CLOSED",
    `The server ${JSON.stringify(server)} was ${why} in the configuration during ${method}, which did not end within ` +
      `${Math.round(drainMs / 100) / 10} s after that, and was called off. Look at what it did before you call it again, ` +
      "or allow more time by the limit drainMs.",
    { details: { wasSent: true } },
  );
}
