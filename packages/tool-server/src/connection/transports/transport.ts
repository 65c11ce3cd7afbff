import type { MessageExtraInfo, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { Credential } from "../../auth/credentials/credential.js";
import type { Clock } from "../../clock.js";
import type { TransportInfo, TransportKind } from "../../connection-info.js";
import type { Reporter } from "../../diagnostics.js";
import type { ToolServerError } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { RequestId, RpcMessage } from "../rpc/json-rpc.js";
import type { SendOptions } from "../rpc/peer.js";

/** What is known of a message besides itself. */
export interface ToolMessageExtra extends MessageExtraInfo {
  /** The request of ours on whose stream it came, where each has a stream of its own. */
  readonly relatedRequestId?: RequestId | undefined;
}

/** Options of the SDK, whose signal may be a call. */
export type ToolSendOptions = Omit<TransportSendOptions, "requestSignal"> & SendOptions;

/**
 * A transport of the SDK that fails in our words.
 *
 * `send` of a request rejects with a ToolServerError where it cannot be answered any more; where each request has a stream
 * of its own (HTTP), it resolves only once that stream has ended, so that a response which never comes is a rejection and
 * not a silence. `details.wasSent` says whether the request may have reached the server.
 *
 * `onclose` is called once, however it ends. `onerror` is for what concerns no single request, and is never fatal.
 */
export interface ToolTransport extends Omit<Transport, "send" | "onmessage"> {
  readonly kind: TransportKind;
  /** Why it closed, where it was not this side that closed it. */
  readonly failure: ToolServerError | undefined;
  /** What came in place of responses, as a sentence for a time-out; empty where nothing did. Over HTTP it is part of the failure. */
  strays?(): string;
  send(message: RpcMessage, options?: ToolSendOptions): Promise<void>;
  onmessage?: ((message: RpcMessage, extra?: ToolMessageExtra) => void) | undefined;
}

/** What every transport gets. */
export interface TransportContext {
  /** The name of the server, for messages. */
  readonly server: string;
  /** Itself, for those who watch: the first thing that it publishes is `transport:opened`, by who creates it. */
  readonly info: TransportInfo;
  readonly credential: Credential;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  readonly report: Reporter;
  readonly clock: Clock;
  readonly limits: TransportLimits;
}

/** What every transport over the network gets. */
export interface NetworkContext extends TransportContext {
  readonly url: URL;
  readonly http: HttpClient;
}

export interface TransportLimits {
  /** The largest message that is read, in bytes. Default 16 MiB. */
  readonly messageBytes: number;
  /** How long to wait for a connection, in milliseconds. Default 10,000. */
  readonly connectMs: number;
  /**
   * How long a server that sends requests may leave a full queue of responses untouched, in milliseconds. Then the connection
   * fails. Default 30,000.
   */
  readonly stallMs: number;
}

export const defaultLimits: TransportLimits = {
  messageBytes: 16 * 1024 * 1024,
  connectMs: 10_000,
  stallMs: 30_000,
};
