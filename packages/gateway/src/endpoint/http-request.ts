import type { ServerResponse } from "node:http";
import type { Http2Stream } from "node:http2";
import type { Fallback } from "@wirescope/channelz";
import type { RequestHeaders } from "../client-call.js";

/** A request over HTTP/1.1 or HTTP/2. */
export type EndpointRequest = Parameters<Fallback>[0];

/** The common part of an HTTP/1.1 and an HTTP/2 response. */
export interface EndpointResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** Whether the operating system has accepted all of it. */
  readonly writableFinished: boolean;
  /** Buffered bytes. */
  readonly writableLength: number;
  writeHead(status: number, headers?: Readonly<Record<string, string | number>>): EndpointResponse;
  /** Missing on HTTP/2, which sends headers at once. */
  flushHeaders?(): void;
  write(text: string): boolean;
  end(): unknown;
  end(body: string | Uint8Array): unknown;
  on(event: "close", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/** Handles an HTTP request. */
export type HttpHandler = (request: EndpointRequest, response: EndpointResponse) => void;

/** Whether the client cannot receive more of a response: its connection or stream is closed. */
export function isDisconnected(response: EndpointResponse): boolean {
  // A response over HTTP/2 does not have the property, but its stream has.
  const { destroyed } = "stream" in response ? (response.stream as Http2Stream) : (response as ServerResponse);
  return destroyed;
}

/** Whether a client accepts a media type. Without the header it accepts all. */
export function accepts(header: string | undefined, type: "application/json" | "text/event-stream"): boolean {
  if (header === undefined || header === "*/*") return true;
  if (header.includes(type)) return true;
  const [family] = type.split("/");
  return header
    .toLowerCase()
    .split(",")
    .map((part) => part.split(";", 1)[0]?.trim())
    .some((range) => range === "*/*" || range === `${family}/*` || range === type);
}

/** Whether the body of a request is JSON by its content type. */
export function isJson(header: string | undefined): boolean {
  if (header === "application/json") return true;
  return header?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}

/** Reads the body of a request. Resolves with undefined if it exceeds the limit, and never if the request is aborted. */
export function readBody(request: EndpointRequest, limitBytes: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const announced = Number(request.headers["content-length"] ?? 0);
    if (announced > limitBytes) {
      resolve(undefined);
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= limitBytes) {
        chunks.push(chunk);
        return;
      }
      // The listeners would keep the chunks until the rest of the request has arrived.
      request.off("data", onData);
      request.off("end", onEnd);
      resolve(undefined);
    };
    const onEnd = (): void => {
      const [only] = chunks;
      const isWhole = only !== undefined && chunks.length === 1;
      resolve(isWhole ? only.toString("utf8") : Buffer.concat(chunks).toString("utf8"));
    };
    request.on("data", onData);
    request.on("end", onEnd);
  });
}

export function sessionIdOf(headers: RequestHeaders): string | undefined {
  return trimmed(headers["mcp-session-id"]);
}

export function versionOf(headers: RequestHeaders): string | undefined {
  return trimmed(headers["mcp-protocol-version"]);
}

/** Any other header, trimmed. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  return trimmed(headers[name]);
}

function trimmed(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value.trim() : value?.[0]?.trim();
}
