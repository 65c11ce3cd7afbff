import { type IncomingMessage, ServerResponse } from "node:http";

/** Strings longer than this are encoded before they are written. */
const largeLength = 16 * 1024;

/** A response of HTTP/1.1 that reports when something was written to it, so that what waits for its client can be measured. */
export class MeasuredResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  onWritten: (() => void) | undefined = undefined;

  override write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    const isTaken = super.write(encoded(chunk, encoding), encoding as BufferEncoding, callback as () => void);
    this.onWritten?.();
    return isTaken;
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    super.end(encoded(chunk, encoding), encoding as BufferEncoding, callback as () => void);
    this.onWritten?.();
    return this;
  }
}

/** Node keeps a string that the system does not take at once, and a copy of it. It keeps bytes once, and counts them as such. */
function encoded(chunk: unknown, encoding: unknown): unknown {
  if (typeof chunk !== "string" || chunk.length <= largeLength) return chunk;
  return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
}
