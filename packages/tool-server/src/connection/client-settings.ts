import type {
  Client,
  ClientCapabilities,
  Implementation,
  JSONRPCNotification,
  JSONRPCRequest,
  Result,
  ServerCapabilities,
} from "@modelcontextprotocol/client";
import type { TransportFacts } from "../diagnostics/facts.js";

/** Who we are, to the server. */
export interface ClientSettings {
  readonly info: Implementation;
  /** What the server may ask of us. Default: nothing. */
  readonly capabilities?: ClientCapabilities | undefined;
  /** Gets each new client before it connects: to answer what the server asks. */
  readonly prepare?: ((client: Client, facts: TransportFacts) => void) | undefined;
  /** Answers what a server asks and no handler of `prepare` does. Rejects where it does not. Default: the server is refused. */
  readonly onRequest?: ((request: JSONRPCRequest, origin: MessageOrigin) => Promise<Result>) | undefined;
  /** Hears each notification of a server, before the client does. */
  readonly onNotification?: ((notification: JSONRPCNotification, origin: MessageOrigin) => void) | undefined;
}

/** Where a message of a server comes from. */
export interface MessageOrigin {
  readonly facts: TransportFacts;
  /**
   * The mark of the relayed request on whose stream it came; undefined where that cannot be known, as where all share one
   * wire. Where the request is over, a mark that nobody gave.
   */
  readonly mark: object | undefined;
  /** For a request: aborted where the server does not wait for the answer any more. */
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
