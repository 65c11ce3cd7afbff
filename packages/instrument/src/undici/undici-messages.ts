import type { Socket } from "node:net";

/** The properties of an undici request that are used. Versions 6 to 8 publish them. */
export interface UndiciRequest {
  /** The origin as the application gave it. */
  readonly origin: unknown;
  readonly method: string;
  readonly path: string;
  /** Names and values alternate. */
  readonly headers: unknown;
  readonly contentType?: unknown;
  /** The protocol of an upgrade, such as `websocket`. */
  readonly upgrade?: unknown;
}

/** The connect parameters of a client, and its connect function. */
interface Connecting {
  readonly connectParams: { readonly hostname: string; readonly protocol: string; readonly port: string };
  readonly connector: object;
}

/**
 * The undici diagnostics channels that are subscribed to, with their messages. The copy inside Node uses the same names. undici 6
 * lacks the channels for chunks.
 */
export interface UndiciMessages {
  "request:create": { readonly request: UndiciRequest };
  "request:bodyChunkSent": { readonly request: UndiciRequest; readonly chunk: unknown };
  "request:bodySent": { readonly request: UndiciRequest };
  "request:headers": {
    readonly request: UndiciRequest;
    readonly response: { readonly statusCode: number; readonly headers: unknown };
  };
  "request:bodyChunkReceived": { readonly request: UndiciRequest; readonly chunk: unknown };
  "request:trailers": { readonly request: UndiciRequest; readonly trailers: unknown };
  "request:error": { readonly request: UndiciRequest; readonly error: unknown };
  "client:beforeConnect": Connecting;
  "client:connected": Connecting & { readonly socket: Socket };
  "client:connectError": Connecting & { readonly error: unknown };
  "client:sendHeaders": { readonly request: UndiciRequest; readonly socket: Socket };
}

/** The value of a header in a list of alternating names and values, as strings or bytes, or in an object. */
export function headerOf(headers: unknown, name: string): string | undefined {
  if (!Array.isArray(headers)) {
    const value = (headers as Readonly<Record<string, unknown>> | null | undefined)?.[name];
    return value === undefined ? undefined : String(value);
  }
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const key = String(headers[at]);
    if (key.length === name.length && key.toLowerCase() === name) return String(headers[at + 1]);
  }
  return undefined;
}
