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

/** Who we are, to the server. */
export interface ClientSettings {
  readonly info: Implementation;
  /** What the server may ask of us. Default: nothing. */
  readonly capabilities?: ClientCapabilities | undefined;
  /** Gets each new client before it connects: to response what the server asks. */
  readonly prepare?: ((client: Client, info: TransportInfo) => void) | undefined;
  /** Responses what a server asks and no handler of `prepare` does. Rejects where it does not. Default: the server is refused. */
  readonly onRequest?: ((request: RpcRequest, origin: MessageOrigin) => Promise<Result>) | undefined;
  /** Hears each notification of a server, before the client does. */
  readonly onNotification?: ((notification: RpcNotification, origin: MessageOrigin) => void) | undefined;
}

/** Where a message of a server comes from. */
export interface MessageOrigin {
  readonly info: TransportInfo;
  /** The call on whose stream it arrived; undefined if that is not known, because all calls share one socket. */
  readonly call: RelatedCall;
  /** For a request: aborted where the server does not wait for the response any more. */
  readonly signal?: AbortSignal | undefined;
}

/** What a server says of itself. */
export interface ServerDescription {
  /** Undefined where the server does not say. */
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly protocolVersion: string;
  readonly era: "modern" | "legacy";
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
}
