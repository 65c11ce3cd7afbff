import { describeProblem, messageOf, ToolServerError } from "../../errors.js";
import { InFlightSet } from "../../in-flight.js";
import type { Mutable } from "../../mutable.js";
import { printableText } from "../../printable-text.js";
import type { RpcMessage } from "../rpc/json-rpc.js";
import type { ToolMessageExtra, ToolTransport, TransportContext } from "./transport.js";

/** The lifecycle of a transport: it starts once and ends once, and no caller is left waiting. */
export interface TransportLife {
  /** Why it ended, if it was not ended by this side. */
  readonly failure: ToolServerError | undefined;
  readonly isOver: boolean;
  /** Records the start. Throws a TypeError the second time, and CONNECTION_CLOSED or CONNECTION_LOST if it has ended. */
  begin(): void;
  /** Throws if nothing can be sent: a TypeError before the start, CONNECTION_CLOSED or CONNECTION_LOST after the end. */
  assertOpen(): void;
  /**
   * Runs `work`, which settles the promise; if the transport ends first, rejects with CONNECTION_CLOSED or CONNECTION_LOST.
   */
  whileOpen(work: (resolve: () => void, reject: (error: unknown) => void) => void): Promise<void>;
  /** Ends it, with a failure or because this side closes it. False if it had ended before. */
  end(failure?: ToolServerError): boolean;
}

/** Creates the lifecycle of a transport to the named server. */
export function createTransportLife(server: string): TransportLife {
  const waiting = new InFlightSet<(error: ToolServerError) => void>();
  let hasBegun = false;
  const life: Mutable<TransportLife> = {
    failure: undefined,
    isOver: false,
    begin() {
      if (hasBegun) throw new TypeError("The transport was already started. A client starts it when it connects.");
      hasBegun = true;
      if (life.isOver) throw connectionOver(server, life.failure, false);
    },
    assertOpen() {
      if (life.isOver) throw connectionOver(server, life.failure, false);
      if (!hasBegun) throw new TypeError("The transport was not started yet.");
    },
    whileOpen(work) {
      return new Promise((resolve, reject) => {
        const settle = (error: ToolServerError): void => reject(error);
        waiting.add(settle);
        const done = (): void => void waiting.delete(settle);
        work(
          () => {
            done();
            resolve();
          },
          (error) => {
            done();
            reject(error);
          },
        );
      });
    },
    end(failure) {
      if (life.isOver) return false;
      life.isOver = true;
      life.failure = failure;
      if (waiting.size > 0) {
        // A message that was being written may have arrived.
        const error = connectionOver(server, failure, true);
        for (const reject of waiting) reject(error);
        waiting.clear();
      }
      return true;
    },
  };
  return life;
}

/** Creates CONNECTION_CLOSED if this side closed the connection, else CONNECTION_LOST with the failure as its cause. */
export function connectionOver(
  server: string,
  failure: ToolServerError | undefined,
  wasSent: boolean,
): ToolServerError {
  const subject = `The connection to the server ${JSON.stringify(server)}`;
  if (failure === undefined) {
    const problem = `${subject} was closed on this side.`;
    const advice = "Connect again before you call.";
    return new ToolServerError("CONNECTION_CLOSED", { problem, advice }, { details: { wasSent } });
  }
  const parts = { problem: `${subject} is lost. ${describeProblem(failure)}`, advice: failure.advice };
  return new ToolServerError("CONNECTION_LOST", parts, {
    cause: failure,
    details: { ...failure.details, wasSent },
  });
}

/** Creates CONNECTION_LOST for an error of an open connection. */
export function connectionBroken({ server, secrets }: TransportContext, error: unknown): ToolServerError {
  const why = printableText(secrets.redact(messageOf(error)), 200);
  const problem = `The connection to the server ${JSON.stringify(server)} is lost: ${why}.`;
  return new ToolServerError("CONNECTION_LOST", { problem, advice: "Connect again." }, { cause: error });
}

/** Delivers a message. An exception of the listener is reported, and does not stop the reading. */
export function deliver(transport: ToolTransport, message: RpcMessage, extra?: ToolMessageExtra): void {
  try {
    transport.onmessage?.(message, extra);
  } catch (error) {
    transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}
