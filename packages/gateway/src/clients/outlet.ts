import type { RpcAnswer, RpcMessage } from "../rpc/json-rpc.js";

/** Where messages to a client go: the answer of one request of HTTP, or a wire that all share. */
export interface Outlet {
  /** Whether anything can still be sent. */
  readonly isOpen: boolean;
  /** Sends a notification or a request. */
  send(message: RpcMessage): void;
  /** Sends the answer, after which nothing comes where each request has an outlet of its own. */
  answer(message: RpcAnswer, status: number): void;
  /** Ends without an answer, where the client called the request off. */
  end(): void;
}
