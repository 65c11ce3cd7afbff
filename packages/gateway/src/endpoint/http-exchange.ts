import type { Fallback } from "@wirescope/channelz";

/** A request of either version of HTTP. */
export type HttpRequest = Parameters<Fallback>[0];

/** What an answer takes, in the words that all of them have in common. */
export interface HttpResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** Whether the system has taken all of it. */
  readonly writableFinished: boolean;
  /** What lies ready for the client, in bytes. */
  readonly writableLength: number;
  readonly destroyed: boolean;
  writeHead(status: number, headers?: Readonly<Record<string, string | number>>): HttpResponse;
  /** HTTP/2 has sent them by then. */
  flushHeaders?(): void;
  write(text: string): boolean;
  end(): unknown;
  end(body: string): unknown;
  on(event: "close", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/** Answers a request of HTTP. */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void;
