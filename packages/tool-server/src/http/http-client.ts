import type { Socket } from "node:net";
import type { Cancellation } from "../cancellation.js";
import type { SocketInfo } from "../connection-info.js";

/** Headers of an answer, by name in lower case; several of one name are joined by a comma, but for set-cookie, of which the last counts. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/**
 * Sends requests of HTTP for one tool server, over all of its legs: the server itself, and the servers that it signs in with.
 * One proxy, one set of certificates, and every socket is seen. It follows no redirects and adds no headers of its own
 * beyond those that HTTP needs.
 */
export interface HttpClient {
  /** Sends a request and resolves with the head of the answer. Rejects with a ToolServerError, or the signal's reason. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /**
   * Opens a socket to a url, through the proxy and with the TLS settings, for what is not HTTP: WebSocket's upgrade. It is
   * published as a socket, which `socketInfoOf` gives, and ends with this client. Rejects as `send` does.
   */
  openSocket(url: URL, options?: SocketOptions): Promise<Socket>;
  /** Ends all connections. Requests in flight are rejected with CONNECTION_CLOSED. */
  close(): Promise<void>;
}

/** How to reach who is asked. */
export interface SocketOptions {
  readonly signal?: Cancellation | undefined;
  /** Whom it goes to, for messages: `the token endpoint`. Default: the server, by its name. */
  readonly leg?: string | undefined;
  /**
   * Judges each address before it is connected to. What is refused fails with SERVER_UNREACHABLE. Through a proxy, which
   * looks names up by itself, only an address that stands in the url can be judged. Default: all are allowed.
   */
  readonly isAddressAllowed?: ((address: string, host: string) => boolean) | undefined;
}

export interface HttpRequest extends SocketOptions {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** How long the head of the answer may take, in milliseconds, with the connection. Default: for ever. */
  readonly headTimeoutMs?: number | undefined;
  /**
   * Whether the request may be sent once more where the socket died before the head came, though it was written. One that
   * was never written always is. Default false.
   */
  readonly isSafe?: boolean;
  /**
   * Whether it may use one of the connections that are kept for what other requests may wait for, such as the response to a request
   * of the server. Default false.
   */
  readonly usesReserve?: boolean | undefined;
  /** Called each time the request is written. */
  readonly onWritten?: ((socketInfo: SocketInfo) => void) | undefined;
}

/** The head of an answer. Its body waits until it is asked for, by one of the three methods, and one only. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The header `content-type`; empty where there is none. Absent where it is to be looked for in `headers`. */
  readonly contentType?: string;
  /** What it came through; undefined where nobody watches. */
  readonly socketInfo: SocketInfo | undefined;
  /** Reads the whole body. Rejects with MESSAGE_TOO_LARGE past `limitBytes`, or CONNECTION_LOST where it breaks off. */
  text(limitBytes: number): Promise<string>;
  /** The whole body, where it has come already and within the limit: nobody need wait for it. Else undefined, and nothing was read. */
  wholeText?(limitBytes: number): string | undefined;
  /**
   * Hands on each piece of the body as it comes; resolves at its end. Where `onChunk` returns a promise, the next comes
   * after it. Rejects with CONNECTION_LOST where the body breaks off, and with what `onChunk` throws: then it is let go.
   */
  read(onChunk: (chunk: Buffer) => unknown): Promise<void>;
  /** Lets the body go. Reads a short rest, so that the socket can be used again; else ends it. */
  discard(): void;
}
