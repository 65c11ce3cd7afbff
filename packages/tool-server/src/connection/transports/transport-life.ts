import { describeProblem, ToolServerError } from "../../errors.js";
import type { RpcMessage } from "../rpc/json-rpc.js";
import type { ToolMessageExtra, ToolTransport } from "./transport.js";

/** The life of a transport over one socket: it begins once and ends once, and nobody is left waiting. */
export interface TransportLife {
  /** Why it ended, where it was not this side that ended it. */
  readonly failure: ToolServerError | undefined;
  readonly isOver: boolean;
  /** Notes the start. Throws a TypeError at the second, and CONNECTION_CLOSED or CONNECTION_LOST where it is over. */
  begin(): void;
  /** Throws where nothing can be sent: a TypeError before the start, CONNECTION_CLOSED or CONNECTION_LOST after the end. */
  assertOpen(): void;
  /**
   * Does what `work` does, until the end at the latest: then it rejects with CONNECTION_CLOSED or CONNECTION_LOST. `work`
   * gets what resolves it.
   */
  whileOpen(work: (resolve: () => void, reject: (error: unknown) => void) => void): Promise<void>;
  /** Ends it, for a failure or because this side wants to. False where it had ended before. */
  end(failure?: ToolServerError): boolean;
}

/** A life of a transport to the named server. */
export function createTransportLife(server: string): TransportLife {
  const waiting = new Set<(error: ToolServerError) => void>();
  let hasBegun = false;
  let isOver = false;
  let failure: ToolServerError | undefined;
  return {
    get failure() {
      return failure;
    },
    get isOver() {
      return isOver;
    },
    begin() {
      if (hasBegun)
        throw new TypeError("The transport was started before. A client that connects starts it by itself.");
      hasBegun = true;
      if (isOver) throw connectionOver(server, failure, false);
    },
    assertOpen() {
      if (isOver) throw connectionOver(server, failure, false);
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
    end(reason) {
      if (isOver) return false;
      isOver = true;
      failure = reason;
      if (waiting.size > 0) {
        // What was being written may have arrived.
        const error = connectionOver(server, failure, true);
        for (const reject of waiting) reject(error);
        waiting.clear();
      }
      return true;
    },
  };
}

/** That a connection is over: CONNECTION_CLOSED where this side closed it, else CONNECTION_LOST with the failure as its cause. */
export function connectionOver(
  server: string,
  failure: ToolServerError | undefined,
  wasSent: boolean,
): ToolServerError {
  const subject = `The connection to the server ${JSON.stringify(server)}`;
  if (failure === undefined) {
    const problem = `${subject} was closed on this side.`;
    return new ToolServerError(
      "CONNECTION_CLOSED",
      { problem, advice: "Connect again before you call." },
      { details: { wasSent } },
    );
  }
  const parts = { problem: `${subject} is lost. ${describeProblem(failure)}`, advice: failure.advice };
  return new ToolServerError("CONNECTION_LOST", parts, {
    cause: failure,
    details: { ...failure.details, wasSent },
  });
}

/** Hands a message to whoever listens. What they throw is theirs, and must not end the reading. */
export function deliver(transport: ToolTransport, message: RpcMessage, extra?: ToolMessageExtra): void {
  try {
    transport.onmessage?.(message, extra);
  } catch (error) {
    transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}
