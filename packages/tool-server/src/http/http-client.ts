import type { CallPhases } from "../call-phases.js";
import type { Cancellation } from "../cancellation.js";
import type { NetworkSocketInfo, SocketInfo } from "../connection-info.js";

/** Response headers by lower-case name. Repeated headers are joined with commas, except set-cookie, whose last value is kept. */
export type ResponseHeaders = Readonly<Record<string, string>>;

/**
 * Sends HTTP requests for one tool server: to the server itself and to its authorization servers, with the same proxy and
 * certificates. Every socket is published to observers. It follows no redirects and adds only the headers that HTTP requires.
 */
export interface HttpClient {
  /** Sends a request and resolves when the response headers are received. Rejects with a ToolServerError, or the signal's reason. */
  send(request: HttpRequest): Promise<HttpResponse>;
  /**
   * Opens a socket to a URL, through the proxy and with the TLS settings, for the upgrade to WebSocket. It is closed with this
   * client. Rejects as `send` does.
   */
  openSocket(url: URL, options?: SocketOptions): Promise<NetworkSocketInfo>;
  /** Ends all connections. Requests in flight are rejected with CONNECTION_CLOSED. */
  close(): Promise<void>;
}

/** How to connect to the peer. */
export interface SocketOptions {
  readonly signal?: Cancellation | undefined;
  /** The peer's name for messages: `the token endpoint`. Default: the server, by name. */
  readonly peer?: string | undefined;
  /**
   * Checks each address before connecting to it; a rejected address fails with SERVER_UNREACHABLE. A proxy resolves names
   * itself, so with a proxy only an address literal in the URL can be checked. Default: all addresses are allowed.
   */
  readonly isAddressAllowed?: ((address: string, host: string) => boolean) | undefined;
  /** Receives what the request waits for. Default: `transport:connecting` is published for a new connection, and nothing else. */
  readonly phases?: CallPhases | undefined;
}

export interface HttpRequest extends SocketOptions {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The time limit for the response headers, including the connection, in milliseconds. Default: none. */
  readonly headersTimeoutMs?: number | undefined;
  /**
   * Whether the request may be sent again if the socket closed after it was written and before the response headers came. A
   * request that was never written is always sent again. Default false.
   */
  readonly isSafe?: boolean;
  /**
   * Whether it may use the reserved connections, which are for messages that other requests may depend on, such as the response
   * to a request from the server. Default false.
   */
  readonly usesReserve?: boolean | undefined;
  /** Whether the process may exit before its response ends, such as with the event stream of a server. Default false. */
  readonly isBackground?: boolean | undefined;
  readonly observer?: HttpRequestObserver | undefined;
}

/** Notices what becomes of a request before its response. Must not throw. */
export interface HttpRequestObserver {
  /** Called each time the request is written. */
  onWritten(socketInfo: SocketInfo): void;
  /** Whether the request waits for a connection, because all that may be open are in use. */
  onQueued?(isQueued: boolean): void;
}

/** A response whose headers were received. The body can be consumed once, by `text`, `read` or `discard`. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The header `content-type`, empty if missing. Unlike `headers`, it is not copied from all headers. */
  readonly contentType: string;
  /** The socket it was received on. */
  readonly socketInfo: NetworkSocketInfo;
  /** Reads the whole body. Rejects with MESSAGE_TOO_LARGE above `limitBytes`, or CONNECTION_LOST if it is cut off. */
  text(limitBytes: number): Promise<string>;
  /** Returns the whole body if it was already received and is within the limit; otherwise undefined, and nothing is consumed. */
  textIfComplete(limitBytes: number): string | undefined;
  /**
   * Passes each chunk of the body to `onChunk`; resolves at the end. If `onChunk` returns a promise, the next chunk waits for
   * it. Rejects with CONNECTION_LOST if the body is cut off, and with what `onChunk` throws, which also discards the rest.
   */
  read(onChunk: (chunk: Buffer) => unknown): Promise<void>;
  /** Discards the body. A short rest is read so that the socket can be reused; otherwise the socket is closed. */
  discard(): void;
}
