import { type IncomingMessage, ServerResponse } from "node:http";

/** Strings longer than this are encoded before they are written. */
const largeLength = 16 * 1024;

/** A response of HTTP/1.1 that reports when something was written to it, so that what waits for its client can be measured. */
export class MeasuredResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  onWritten: (() => void) | undefined = undefined;

  override write(...given: unknown[]): boolean {
    const isTaken = super.write(...(encoded(given) as Parameters<ServerResponse["write"]>));
    this.onWritten?.();
    return isTaken;
  }

  override end(...given: unknown[]): this {
    super.end(...(encoded(given) as Parameters<ServerResponse["end"]>));
    this.onWritten?.();
    return this;
  }
}

/** Node keeps a string that the system does not take at once, and a copy of it. It keeps bytes once, and counts them as such. */
function encoded(given: unknown[]): unknown[] {
  const [chunk, encoding] = given;
  if (typeof chunk === "string" && chunk.length > largeLength) {
    given[0] = Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
  }
  return given;
}
