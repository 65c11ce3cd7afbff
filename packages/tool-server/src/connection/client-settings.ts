import type {
  Client,
  ClientCapabilities,
  Implementation,
  Result,
  ServerCapabilities,
} from "@modelcontextprotocol/client";
import type { TransportInfo } from "../connection-info.js";
import type { RpcNotification, RpcRequest } from "./rpc/json-rpc.js";
import type { RelatedCall } from "./rpc/peer.js";

/** The client's name and version for servers. */
export interface ClientSettings {
  /** The name and version that servers see. Default: those of this package. */
  readonly info?: Implementation | undefined;
  /** The client capabilities that servers may use. Default: none. */
  readonly capabilities?: ClientCapabilities | undefined;
  /** The era in which servers are connected to; `auto` is the newer one if a server supports it. Default `auto`. */
  readonly era?: "auto" | "legacy" | undefined;
  /** Called with each new client before it connects, to add request handlers. */
  readonly prepare?: ((client: Client, info: TransportInfo) => void) | undefined;
  /** Handles server requests without a handler of `prepare`. Rejects if it does not support one. Default: all are rejected. */
  readonly onRequest?: ((request: RpcRequest, origin: MessageOrigin) => Promise<Result>) | undefined;
  /** Called with each server notification, before the client handles it. */
  readonly onNotification?: ((notification: RpcNotification, origin: MessageOrigin) => void) | undefined;
  /** Called when the stream of notifications is open again after it was not: some may have been lost, such as those of changed lists. */
  readonly onStreamReopened?: (() => void) | undefined;
}

/** The origin of a message from a server. */
export interface MessageOrigin {
  readonly info: TransportInfo;
  /** The call on whose stream it arrived; undefined if that is not known, because all calls share one socket. */
  readonly call: RelatedCall;
  /** For a request: aborted when the server no longer waits for the response. */
  readonly signal?: AbortSignal | undefined;
}

/** A server's description of itself. */
export interface ServerDescription {
  /** Undefined if the server does not say. */
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly protocolVersion: string;
  readonly era: "modern" | "legacy";
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
}
