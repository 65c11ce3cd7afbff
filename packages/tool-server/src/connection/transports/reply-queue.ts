import { ToolServerError } from "../../errors.js";
import type { TransportContext } from "./transport.js";

/**
 * Bounds the memory that a server can use here by sending requests without reading the responses. While the queue is
 * full, the transport reads nothing from that server. Requests of one read still get their responses, so the queue can exceed its
 * limit by the requests that fit into one read.
 */
export interface ReplyQueue {
  /** Sends a response of `bytes` with `write`, in turn. Settles as `write` does. */
  send(bytes: number, write: () => Promise<void>): Promise<void>;
  /** Undefined while there is room; else resolves when there is again, or when the transport has ended. */
  room(): Promise<void> | undefined;
  /** The transport has ended: `write` of each waiting response is called at once, and rejects. */
  end(): void;
}

/** How many responses may wait, and how large they may be together; reading resumes when half of both is left. */
const [maxReplies, maxReplyBytes] = [64, 1024 * 1024];

interface WaitingReply {
  readonly bytes: number;
  readonly write: () => Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A queue that is full, until there is room again. */
interface FullQueue {
  readonly room: Promise<void>;
  readonly open: () => void;
  cancelTimeout: () => void;
}

/**
 * Creates a queue that writes at most `maxConcurrent` responses at the same time; by default all. `onStalled` is called if it was full
 * for `stallMs` and the server accepted no response.
 */
export function createReplyQueue(
  { server, clock, limits: { stallMs } }: Pick<TransportContext, "server" | "clock" | "limits">,
  onStalled: (failure: ToolServerError) => void,
  maxConcurrent: number = Number.POSITIVE_INFINITY,
): ReplyQueue {
  const waiting: WaitingReply[] = [];
  let [replies, bytes, writing] = [0, 0, 0];
  let full: FullQueue | undefined;
  let isOver = false;

  const startTimeout = (): (() => void) => clock.after(stallMs, () => onStalled(repliesNotAccepted(server, stallMs)));
  const fill = (): void => {
    let open = (): void => {};
    const room = new Promise<void>((resolve) => {
      open = resolve;
    });
    full = { room, open, cancelTimeout: startTimeout() };
  };
  const release = (): void => {
    full?.cancelTimeout();
    full?.open();
    full = undefined;
  };
  const settle = (reply: WaitingReply, wasAccepted: boolean): void => {
    replies -= 1;
    bytes -= reply.bytes;
    writing -= 1;
    if (full !== undefined && wasAccepted) {
      full.cancelTimeout();
      full.cancelTimeout = startTimeout();
    }
    if (replies <= maxReplies / 2 && bytes <= maxReplyBytes / 2) release();
    writeNext();
  };
  const writeNext = (): void => {
    while (isOver || writing < maxConcurrent) {
      const reply = waiting.shift();
      if (reply === undefined) return;
      writing += 1;
      reply.write().then(
        () => {
          settle(reply, true);
          reply.resolve();
        },
        (error: unknown) => {
          settle(reply, false);
          reply.reject(error);
        },
      );
    }
  };

  return {
    send(size, write) {
      return new Promise((resolve, reject) => {
        waiting.push({ bytes: size, write, resolve, reject });
        replies += 1;
        bytes += size;
        if (full === undefined && !isOver && (replies >= maxReplies || bytes >= maxReplyBytes)) fill();
        writeNext();
      });
    },
    room: () => full?.room,
    end() {
      isOver = true;
      release();
      writeNext();
    },
  };
}

/** Creates CONNECTION_LOST for a server that does not accept the responses to its requests. */
function repliesNotAccepted(server: string, stallMs: number): ToolServerError {
  const problem = `The server ${JSON.stringify(server)} sends requests, but has not accepted a response to any of them for ${stallMs / 1000} s. The connection was closed.`;
  const advice = "Check that the server reads what it is sent, and connect again.";
  return new ToolServerError("CONNECTION_LOST", { problem, advice });
}
