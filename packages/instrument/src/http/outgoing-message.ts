import type { ClientRequest, OutgoingMessage, ServerResponse } from "node:http";
import { type BodyShape, isAskedInPath, questionShapeOf } from "../messages/body-shape.js";

/** Undocumented members of Node's messages. Each may be missing. */
interface Internals {
  /** False if the message has no body, such as the response to HEAD; written bytes are then dropped. */
  readonly _hasBody?: boolean;
  /** The headers as sent, once they are serialized. */
  readonly _header?: string | null;
  /** The trailers as sent. */
  readonly _trailer?: string;
}

/** Whether what is written to a message is sent. */
export function hasBody(message: OutgoingMessage): boolean {
  return (message as Internals)._hasBody !== false;
}

/** The content type of a message, as soon as it has one. */
export function contentTypeOf(message: OutgoingMessage | undefined): unknown {
  // Headers that were passed to writeHead are only in the serialized headers.
  return message?.getHeader("content-type") ?? match(headOf(message), /\r\ncontent-type: *([^\r]*)/i);
}

/** The shape of a request body. */
export function questionOf(message: OutgoingMessage | undefined): BodyShape {
  const { method, path } = message as Partial<ClientRequest>;
  // Most requests are GET, and their headers need not be read.
  if (method === "GET") return isAskedInPath(method, path) ? "unary" : "whole";
  return questionShapeOf({
    "content-type": contentTypeOf(message),
    "connect-protocol-version":
      message?.getHeader("connect-protocol-version") ??
      match(headOf(message), /\r\nconnect-protocol-version: *([^\r]*)/i),
  });
}

/** Whether the message of a request is in its path. */
export function isAskedInPathBy(message: OutgoingMessage): boolean {
  const { method, path } = message as ClientRequest;
  return isAskedInPath(method, path);
}

/** The status of a response. */
export function statusOf(message: OutgoingMessage | undefined): number | undefined {
  return (message as ServerResponse | undefined)?.statusCode;
}

/** `grpc-status` of a message with headers and trailers: from the trailers or, without trailers, from the headers. */
export function grpcStatusOf(message: OutgoingMessage | undefined): unknown {
  const trailers = (message as Internals | undefined)?._trailer;
  return (
    match(trailers, /^grpc-status: *(\d+)/im) ??
    message?.getHeader("grpc-status") ??
    match(headOf(message), /\r\ngrpc-status: *(\d+)/i)
  );
}

function headOf(message: OutgoingMessage | undefined): string | null | undefined {
  return (message as Internals | undefined)?._header;
}

function match(text: string | null | undefined, pattern: RegExp): string | undefined {
  return typeof text === "string" ? pattern.exec(text)?.[1] : undefined;
}
