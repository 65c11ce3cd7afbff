import type { ClientRequest, OutgoingMessage, ServerResponse } from "node:http";
import { type BodyShape, isConnectGet, requestShapeOf } from "../messages/body-shape.js";

/** Undocumented members of Node's messages. Each may be missing. */
interface Internals {
  /** False if the message has no body, such as the response to HEAD; written bytes are then dropped. */
  readonly _hasBody?: boolean;
  /** The headers as sent, once they are serialized. */
  readonly _header?: string | null;
  /** The trailers as sent. */
  readonly _trailer?: string;
}

/** Whether bytes written to a message are sent. */
export function hasBody(message: OutgoingMessage): boolean {
  return (message as Internals)._hasBody !== false;
}

/** The content type of a message, if it is already set. */
export function contentTypeOf(message: OutgoingMessage | undefined): unknown {
  // Headers that were passed to writeHead are only in the serialized headers.
  return message?.getHeader("content-type") ?? match(serializedHeaders(message), /\r\ncontent-type: *([^\r]*)/i);
}

export function outgoingRequestShape(message: OutgoingMessage | undefined): BodyShape {
  const { method, path } = message as Partial<ClientRequest>;
  // The headers of a GET request, the most common one, need not be read.
  if (method === "GET") return isConnectGet(method, path) ? "unary" : "whole";
  return requestShapeOf({
    "content-type": contentTypeOf(message),
    "connect-protocol-version":
      message?.getHeader("connect-protocol-version") ??
      match(serializedHeaders(message), /\r\nconnect-protocol-version: *([^\r]*)/i),
  });
}

/** Whether a request is a Connect GET, with its message in the query string. */
export function isConnectGetRequest(message: OutgoingMessage): boolean {
  const { method, path } = message as ClientRequest;
  return isConnectGet(method, path);
}

export function statusOf(message: OutgoingMessage | undefined): number | undefined {
  return (message as ServerResponse | undefined)?.statusCode;
}

/** `grpc-status` of a response, from the trailers or, in a trailers-only response, from the headers. */
export function grpcStatusOf(message: OutgoingMessage | undefined): unknown {
  const trailers = (message as Internals | undefined)?._trailer;
  return (
    match(trailers, /^grpc-status: *(\d+)/im) ??
    message?.getHeader("grpc-status") ??
    match(serializedHeaders(message), /\r\ngrpc-status: *(\d+)/i)
  );
}

function serializedHeaders(message: OutgoingMessage | undefined): string | null | undefined {
  return (message as Internals | undefined)?._header;
}

function match(text: string | null | undefined, pattern: RegExp): string | undefined {
  return typeof text === "string" ? pattern.exec(text)?.[1] : undefined;
}
