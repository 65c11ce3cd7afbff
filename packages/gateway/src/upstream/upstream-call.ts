import { ToolServerError } from "@wirescope/tool-server";
import type { Caller } from "../clients/caller.js";

/** A call of a server that is under way. Also the mark by which what the server sends on its stream is known. */
export interface UpstreamCall {
  readonly caller: Caller;
  readonly server: string;
  readonly method: string;
  /** When the server was last heard of, in milliseconds. */
  activeAt: number;
  /** How many questions of the server the client has not answered yet: meanwhile the server need not say anything. */
  questions: number;
}

/** Calls off what a server is silent about for too long. One look a second at all calls costs less than a timer for each. */
export interface SilenceWatch {
  begin(call: UpstreamCall): void;
  end(call: UpstreamCall): void;
  close(): void;
}

export function watchSilence(idleMs: number, now: () => number = Date.now): SilenceWatch {
  const calls = new Set<UpstreamCall>();
  const look = (): void => {
    const at = now();
    for (const call of calls) {
      if (call.questions > 0 || at - call.activeAt < idleMs) continue;
      calls.delete(call);
      call.caller.callOff.off(silent(call, idleMs));
    }
  };
  const timer = setInterval(look, Math.min(1000, Math.max(10, idleMs / 4)));
  timer.unref();
  return {
    begin: (call) => void calls.add(call),
    end: (call) => void calls.delete(call),
    close: () => clearInterval(timer),
  };
}

function silent({ server, method }: UpstreamCall, idleMs: number): ToolServerError {
  return new ToolServerError(
    "CALL_TIMEOUT",
    `The server ${JSON.stringify(server)} neither answered ${method} nor told of progress for ${Math.round(idleMs / 100) / 10} s. ` +
      "It was told to stop. Allow more time, or look at what the server does.",
    { details: { wasSent: true } },
  );
}
