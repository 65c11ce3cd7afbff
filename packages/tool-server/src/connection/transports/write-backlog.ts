import type { Clock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { cancelledIdOf, type RpcMessage } from "../rpc/json-rpc.js";

/**
 * Bounds the memory for messages to a server that does not read them: a call that timed out is over, but its bytes still wait. Responses
 * have a bound of their own, see ReplyQueue.
 */
export interface WriteBacklog {
  /**
   * Throws SERVER_BUSY if more than 16 MiB wait already; so a message of any size is accepted if nothing does. Cancellations always are:
   * each belongs to a request that was.
   */
  assertRoom(message: RpcMessage): void;
  /** Something that waited was written. */
  written(): void;
  /** The transport has ended. */
  end(): void;
}

export interface WriteBacklogOptions {
  readonly server: string;
  readonly clock: Clock;
  /** How long a full backlog may wait for the server to read, in milliseconds. */
  readonly stallMs: number;
  /** How much waits now, in bytes. */
  readonly waitingBytes: () => number;
  /** A message was rejected, and then nothing was written for `stallMs`. */
  readonly onStalled: () => void;
}

const maxWaitingBytes = 16 * 1024 * 1024;

export function createWriteBacklog(options: WriteBacklogOptions): WriteBacklog {
  const { server, clock, stallMs, waitingBytes, onStalled } = options;
  let hasWritten = false;
  let stopTimer: (() => void) | undefined;
  const watch = (): void => {
    hasWritten = false;
    stopTimer = clock.after(stallMs, () => {
      stopTimer = undefined;
      if (waitingBytes() <= maxWaitingBytes) return;
      if (hasWritten) watch();
      else onStalled();
    });
  };
  return {
    assertRoom(message) {
      if (waitingBytes() <= maxWaitingBytes || cancelledIdOf(message) !== undefined) return;
      if (stopTimer === undefined) watch();
      throw inputNotRead(server);
    },
    written() {
      hasWritten = true;
    },
    end() {
      stopTimer?.();
    },
  };
}

function inputNotRead(server: string): ToolServerError {
  const mebibytes = maxWaitingBytes / 1024 / 1024;
  const problem = `The server ${JSON.stringify(server)} does not read its input: more than ${mebibytes} MiB wait for it. The request was not sent.`;
  const advice = "Try again later, or check what the server is doing.";
  return new ToolServerError("SERVER_BUSY", { problem, advice }, { details: { wasSent: false } });
}
