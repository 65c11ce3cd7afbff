import { type Cancellation, Canceller } from "../../cancellation.js";
import { ToolServerError } from "../../errors.js";
import type { RequestId } from "../rpc/json-rpc.js";
import { connectionOver } from "./transport-life.js";

/** A message on its way, or a stream that is open, until its response has been read. */
export class Post extends Canceller {
  /** That of the request; undefined for a notification or a response. */
  readonly id: RequestId | undefined;
  /** Whether it may have arrived. */
  wasWritten = false;
  readonly #server: string;

  constructor(id: RequestId | undefined, server: string) {
    super();
    this.id = id;
    this.#server = server;
  }

  /** Gives up what is left of it. */
  giveUp(reason: string): void {
    if (this.aborted) return;
    const problem = `The request to the server ${JSON.stringify(this.#server)} has ended. ${reason}`;
    this.cancel(
      new ToolServerError("CALL_CANCELLED", { problem, advice: "" }, { details: { wasSent: this.wasWritten } }),
    );
  }

  /** Why it failed: the reason that it was cancelled for, else the error. Nobody reads what is left of the response. */
  failureOf(error: unknown): unknown {
    if (this.aborted) return this.reason;
    this.giveUp("It failed.");
    return error;
  }
}

/** All posts of one transport. */
export interface Posts {
  /** Begins one, for a request of this id, which its sender may cancel. */
  begin(id: RequestId | undefined, cancellation: Cancellation | undefined): Post;
  end(post: Post): void;
  /** Cancels that of a request. */
  cancel(id: RequestId): void;
  /** Resolves once none of these is left. */
  idle(isAwaited: (post: Post) => boolean): Promise<void>;
  /** Cancels all, because the transport failed or is closed; resolves once those who wait for them have heard it. */
  cancelAll(failure: ToolServerError | undefined): Promise<void>;
}

const cancelled = "It was cancelled.";

export function createPosts(server: string): Posts {
  const posts = new Set<Post>();
  const waiting = new Set<() => void>();
  /** Stops listening to the sender, for the few that have one. */
  const stops = new WeakMap<Post, () => void>();

  return {
    begin(id, cancellation) {
      const post = new Post(id, server);
      posts.add(post);
      if (cancellation !== undefined) {
        const onAbort = (): void => post.giveUp(cancelled);
        if (cancellation.aborted) onAbort();
        else cancellation.addEventListener("abort", onAbort);
        stops.set(post, () => cancellation.removeEventListener("abort", onAbort));
      }
      return post;
    },
    end(post) {
      stops.get(post)?.();
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
      // A rejection passes a few hands before it is heard.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
