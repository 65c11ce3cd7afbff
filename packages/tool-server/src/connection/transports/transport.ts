import type { MessageExtraInfo, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { Credential } from "../../auth/credentials/credential.js";
import type { Clock } from "../../clock.js";
import type { TransportInfo, TransportKind } from "../../connection-info.js";
import type { Reporter } from "../../diagnostics.js";
import type { ToolServerError } from "../../errors.js";
import type { HttpClient } from "../../http/http-client.js";
import type { SecretRegistry } from "../../secrets/redactor.js";
import type { RpcMessage } from "../rpc/json-rpc.js";
import type { MessageOriginId, MessageTransport, SendOptions } from "../rpc/peer.js";

/** Additional information about a received message. */
export interface ToolMessageExtra extends MessageExtraInfo, MessageOriginId {}

/** The SDK's options, whose signal may be a call. */
export type ToolSendOptions = Omit<TransportSendOptions, "requestSignal"> & SendOptions;

/**
 * A transport for the SDK that fails with a ToolServerError.
 *
 * `send` of a request rejects if it can no longer get a response. If each request has its own stream (HTTP), `send` resolves
 * only when that stream has ended, so that a missing response is a rejection and not silence. `details.wasSent` says whether
 * the request may have reached the server.
 *
 * `onclose` is called exactly once. `onerror` reports what concerns no single request, and is never fatal. `ondraining` is called at most
 * once, before `onclose`: what the server sends outside of requests no longer arrives. Requests in flight may still get their responses;
 * after the last, it closes with this failure if nobody has closed it. `onstreamreopened` is called each time that the stream of what the
 * server sends outside of requests is open again after it was not: some messages may have been lost.
 */
export interface ToolTransport extends Omit<Transport, keyof MessageTransport>, MessageTransport {
  readonly kind: TransportKind;
  /** Why it closed, if it was not closed by this side. */
  readonly failure: ToolServerError | undefined;
  /** Text that was received instead of responses, as a sentence for a time-out; empty if there was none. Over HTTP it is part of the failure. */
  strayOutput?(): string;
  send(message: RpcMessage, options?: ToolSendOptions): Promise<void>;
  onmessage?: ((message: RpcMessage, extra?: ToolMessageExtra) => void) | undefined;
  ondraining?: ((failure: ToolServerError) => void) | undefined;
  onstreamreopened?: (() => void) | undefined;
}

/** The dependencies of every transport. */
export interface TransportContext {
  /** The name of the server, for messages. */
  readonly server: string;
  /** Identifies it to observers. Its creator publishes `transport:opened` first. */
  readonly info: TransportInfo;
  readonly credential: Credential;
  readonly secrets: Pick<SecretRegistry, "add" | "redact">;
  readonly report: Reporter;
  readonly clock: Clock;
  readonly limits: TransportLimits;
}

/** The dependencies of every network transport. */
export interface NetworkContext extends TransportContext {
  readonly url: URL;
  readonly http: HttpClient;
}

/** The limits of a transport: sizes in bytes, times in milliseconds. */
export interface TransportLimits {
  /** The maximum size of a received message, in bytes. Default 16 MiB. */
  readonly messageBytes: number;
  /** The time limit for connecting, in milliseconds. Default 10,000. */
  readonly connectMs: number;
  /**
   * How long a server may leave a full queue unread, of our responses or over a pipe or WebSocket of our requests, in milliseconds,
   * before the connection fails. Default 30,000.
   */
  readonly stallMs: number;
}

export const defaultLimits: TransportLimits = {
  messageBytes: 16 * 1024 * 1024,
  connectMs: 10_000,
  stallMs: 30_000,
};
