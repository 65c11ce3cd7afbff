import type { RpcMessage, RpcResponse } from "@wirescope/tool-server/internal";

/** Where messages to a client are written: the response to one HTTP request, or a connection that all requests share. */
export interface MessageWriter {
  /** Whether anything can still be sent. */
  readonly isOpen: boolean;
  send(message: RpcMessage): void;
  /** Sends the response. If each request has its own writer, this ends it. */
  respond(message: RpcResponse, status: number): void;
  /** Ends without a response: the client expects none. */
  end(): void;
}
