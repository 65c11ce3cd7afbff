import type { Socket } from "node:net";
import type { WireFacts } from "../diagnostics/facts.js";

/** Headers of an answer, by name in lower case; several of one name are joined by a comma, but for set-cookie. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/**
 * Sends requests of HTTP for one tool server, over all of its legs: the server itself, and the servers that it signs in with.
 * One proxy, one set of certificates, and every socket is seen. It follows no redirects and adds no headers of its own
 * beyond those that HTTP needs.
 */
export interface HttpClient {
  /** Sends a request and resolves with the head of the answer. Rejects with a ToolServerError, or the signal's reason. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Opens a socket to a url, through the proxy and with the TLS settings, for what is not HTTP: WebSocket's upgrade. */
  openSocket(url: URL, options?: { readonly signal?: AbortSignal | undefined }): Promise<Socket>;
  /** Ends all connections. Requests in flight are rejected with CONNECTION_CLOSED. */
  close(): Promise<void>;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the head of the answer may take, in milliseconds. Default: for ever. */
  readonly headTimeoutMs?: number | undefined;
  /**
   * Whether the request may be sent once more where the socket died before the head came, though it was written. One that
   * was never written always is. Default false.
   */
  readonly isSafe?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** What it came through; undefined where nobody watches. */
  readonly wire: WireFacts | undefined;
  /** Reads the whole body. Rejects with MESSAGE_TOO_LARGE past `limitBytes`, or CONNECTION_LOST where it breaks off. */
  text(limitBytes: number): Promise<string>;
  /** Hands on each piece of the body as it comes; resolves at its end. Rejects with CONNECTION_LOST where it breaks off. */
  read(onChunk: (chunk: Buffer) => void): Promise<void>;
  /** Lets the body go. Reads a short rest, so that the socket can be used again; else ends it. */
  discard(): void;
}
