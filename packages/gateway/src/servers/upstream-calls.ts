import { type Clock, ToolServerError } from "@wirescope/tool-server";
import { RpcError, rpcCodes } from "@wirescope/tool-server/internal";
import type { ClientCall } from "../client-call.js";
import type { GatewayLimits } from "../limits.js";
import { createRates } from "../rates.js";

/** What became of a server in the configuration. */
export type Departure = "changed" | "removed";

export type CallsInFlight = Iterable<ClientCall> & Pick<ReadonlySet<ClientCall>, "has" | "size">;

/** The calls of one server that are under way. */
export interface UpstreamCalls {
  readonly all: CallsInFlight;
  /** Adds one. Throws an RpcError if the server has reached a limit, and CONNECTION_CLOSED once it drains. */
  add(call: ClientCall): void;
  remove(call: ClientCall): void;
  /** Cancels calls about which the server is silent for longer than `callIdleMs`. */
  cancelSilent(): void;
  /** Adds none any more. Resolves when all have ended: after `drainMs` they are cancelled, for this reason. */
  drain(why: Departure): Promise<void>;
}

export interface UpstreamCallsOptions {
  /** The name of the server. */
  readonly server: string;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
}

export function createUpstreamCalls({ server, limits, clock }: UpstreamCallsOptions): UpstreamCalls {
  const all = new Set<ClientCall>();
  const rates = createRates(limits.serverRate, () => clock.now());
  let departure: Departure | undefined;
  let onDrained = (): void => {};

  return {
    all,
    add(call) {
      if (departure !== undefined) throw tooLate(server, departure);
      if (all.size >= limits.serverConcurrency) throw overloaded(server, "concurrency", limits);
      if (!rates.take("")) throw overloaded(server, "rate", limits);
      call.activeAt = clock.now();
      all.add(call);
    },
    remove(call) {
      all.delete(call);
      if (all.size === 0) onDrained();
    },
    cancelSilent() {
      const now = clock.now();
      for (const call of all) {
        const isSilent = call.openQuestions === 0 && now - call.activeAt >= limits.callIdleMs;
        if (isSilent) call.cancel(silent(server, call, limits.callIdleMs));
      }
    },
    drain(why) {
      departure = why;
      if (all.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const forget = clock.after(limits.drainMs, () => {
          for (const call of all) call.cancel(outOfTime(server, call, why, limits.drainMs));
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

function silent(server: string, { method }: ClientCall, idleMs: number): ToolServerError {
  return new ToolServerError(
    "CALL_TIMEOUT",
    {
      problem: `The server ${JSON.stringify(server)} neither responded to ${method} nor reported progress for ${Math.round(idleMs / 100) / 10} s. The call was cancelled.`,
      advice: "Allow more time, or look at what the server does.",
    },
    { details: { wasSent: true } },
  );
}

/** That a call found a server which went out of use a moment before. */
function tooLate(server: string, why: Departure): ToolServerError {
  const problem = `The server ${JSON.stringify(server)} was just ${why} in the configuration, and was not called.`;
  return new ToolServerError("CONNECTION_CLOSED", { problem, advice: "Call again." }, { details: { wasSent: false } });
}

function outOfTime(server: string, { method }: ClientCall, why: Departure, drainMs: number): ToolServerError {
  return new ToolServerError(
    "CONNECTION_CLOSED",
    {
      problem: `The server ${JSON.stringify(server)} was ${why} in the configuration during ${method}, which did not end within ${Math.round(drainMs / 100) / 10} s after that, and was cancelled.`,
      advice: "Look at what it did before you call it again, or allow more time by the limit drainMs.",
    },
    { details: { wasSent: true } },
  );
}
