import type { OutgoingMessage } from "node:http";

/** What Node keeps on a message beside its documented interface. Each may be missing. */
interface Internals {
  /** False where there can be no body, as in the answer to HEAD; what is written is then dropped. */
  readonly _hasBody?: boolean;
  /** The head as it goes over the wire, once it is made. */
  readonly _header?: string | null;
  /** The trailers as they go over the wire. */
  readonly _trailer?: string;
}

/** Whether what is written to a message is sent. */
export function hasBody(message: OutgoingMessage): boolean {
  return (message as Internals)._hasBody !== false;
}

/** The content type of a message, as soon as it has one. */
export function contentTypeOf(message: OutgoingMessage | undefined): unknown {
  // Headers that were given all at once are in the head alone.
  return message?.getHeader("content-type") ?? match(headOf(message), /\r\ncontent-type: *([^\r]*)/i);
}

/** `grpc-status` of a message that has its head and its trailers: from these or, where there are none, from that. */
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
