import type { RpcMessage, RpcResponse } from "@wirescope/tool-server/rpc";

/** Where messages to a client go: the answer of one request of HTTP, or a wire that all share. */
export interface Outlet {
  /** Whether anything can still be sent. */
  readonly isOpen: boolean;
  /** Sends a notification or a request. */
  send(message: RpcMessage): void;
  /** Sends the answer, after which nothing comes where each request has an outlet of its own. */
  answer(message: RpcResponse, status: number): void;
  /** Ends without an answer, where the client called the request off. */
  end(): void;
}
