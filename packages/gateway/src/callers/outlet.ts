import type { RpcMessage, RpcResponse } from "@wirescope/tool-server/internal";

/** Where messages to a client are written: the response to one HTTP request, or a connection that all requests share. */
export interface Outlet {
  /** Whether anything can still be sent. */
  readonly isOpen: boolean;
  send(message: RpcMessage): void;
  /** Sends the response. If each request has its own outlet, this ends it. */
  respond(message: RpcResponse, status: number): void;
  /** Ends without a response: the client expects none. */
  end(): void;
}
