import type { RpcMessage, RpcResponse } from "@wirescope/tool-server/internal";

/** Where messages to a client go: the response to one HTTP request, or a wire that all share. */
export interface Outlet {
  /** Whether anything can still be sent. */
  readonly isOpen: boolean;
  /** Sends a notification or a request. */
  send(message: RpcMessage): void;
  /** Sends the response, after which nothing follows if each request has an outlet of its own. */
  respond(message: RpcResponse, status: number): void;
  /** Ends without a response, because the client cancelled the request. */
  end(): void;
}
