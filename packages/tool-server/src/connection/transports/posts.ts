import { Canceller } from "../../cancellation.js";
import type { SocketInfo } from "../../connection-info.js";
import { publisherOf } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import type { HttpRequestObserver } from "../../http/http-client.js";
import { InFlightSet } from "../../in-flight.js";
import type { RequestId } from "../rpc/json-rpc.js";
import type { SendOptions } from "../rpc/peer.js";
import { connectionOver } from "./transport-life.js";

/** How many responses to the server's requests are posted concurrently, each on its own socket. */
export const maxConcurrentReplies = 4;

const messageSent = publisherOf("socket:message-sent");

/** A posted message or an open stream, until its response has been read. */
export class Post extends Canceller implements HttpRequestObserver {
  /** The id of the request; undefined for a notification or a response. */
  readonly id: RequestId | undefined;
  /** Whether it may have arrived. */
  wasWritten = false;
  /** Removes the listener for the sender's cancellation, for the few posts that have one. */
  stop: (() => void) | undefined = undefined;
  readonly #server: string;
  readonly #options: SendOptions | undefined;

  constructor(id: RequestId | undefined, server: string, options: SendOptions | undefined) {
    super();
    this.id = id;
    this.#server = server;
    this.#options = options;
  }

  onWritten(socketInfo: SocketInfo): void {
    this.wasWritten = true;
    this.#options?.onSending?.();
    messageSent(socketInfo);
  }

  onQueued(isQueued: boolean): void {
    this.#options?.onQueued?.(isQueued);
  }

  /** Cancels the rest. */
  giveUp(reason: string): void {
    if (this.aborted) return;
    const problem = `The request to the server ${JSON.stringify(this.#server)} has ended. ${reason}`;
    this.cancel(
      new ToolServerError("CALL_CANCELLED", { problem, advice: "" }, { details: { wasSent: this.wasWritten } }),
    );
  }

  /** The reason of the failure: that of the cancellation, else the error. The rest of the response is not read. */
  failureOf(error: unknown): unknown {
    if (this.aborted) return this.reason;
    this.giveUp("It failed.");
    return error;
  }
}

/** All posts of one transport. */
export interface Posts {
  /** Starts a post, for a request with this id, which its sender may cancel. */
  begin(id: RequestId | undefined, options?: SendOptions): Post;
  end(post: Post): void;
  cancel(id: RequestId): void;
  /** Resolves when no matching post is left. */
  idle(isAwaited: (post: Post) => boolean): Promise<void>;
  /** Cancels all because the transport failed or is closed; resolves after their callers were rejected. */
  cancelAll(failure: ToolServerError | undefined): Promise<void>;
}

const cancelled = "It was cancelled.";

export function createPosts(server: string): Posts {
  const posts = new InFlightSet<Post>();
  const waiting = new Set<() => void>();

  return {
    begin(id, options) {
      const post = new Post(id, server, options);
      posts.add(post);
      const cancellation = options?.requestSignal;
      if (cancellation !== undefined) {
        const onAbort = (): void => post.giveUp(cancelled);
        if (cancellation.aborted) onAbort();
        else cancellation.addEventListener("abort", onAbort);
        post.stop = () => cancellation.removeEventListener("abort", onAbort);
      }
      return post;
    },
    end(post) {
      post.stop?.();
      posts.delete(post);
      if (waiting.size > 0) for (const check of waiting) check();
    },
    cancel(id) {
      for (const post of posts) if (post.id === id) post.giveUp(cancelled);
    },
    idle(isAwaited) {
      return new Promise((resolve) => {
        const check = (): void => {
          if ([...posts].some(isAwaited)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      });
    },
    async cancelAll(failure) {
      if (posts.size === 0) return;
      for (const post of posts) post.cancel(connectionOver(server, failure, post.wasWritten));
      // A rejection passes through several promises before the caller gets it.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
