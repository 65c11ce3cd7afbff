import type { Http2Stream, IncomingHttpHeaders } from "node:http2";
import { type StreamCounters, StreamTracker } from "./stream-tracker.js";

const trackerKey = Symbol("wirescope.tracker");
/** Trackers to be used again; more are not kept. */
const pool: StreamTracker[] = [];
const maxPooled = 1024;

type WriteCallback = (error?: Error | null) => void;

/** The methods of Node's streams that are watched. All but `emit` and `push` are those that a Duplex must have. */
interface StreamMethods {
  [trackerKey]?: StreamTracker | undefined;
  push(chunk: unknown, encoding?: BufferEncoding): boolean;
  emit(event: string | symbol, ...args: unknown[]): boolean;
  _write(chunk: Uint8Array, encoding: BufferEncoding, callback: WriteCallback): void;
  _writev(chunks: { readonly chunk: Uint8Array }[], callback: WriteCallback): void;
  _destroy(error: Error | null, callback: WriteCallback): void;
}

const patched = new WeakSet<object>();

/** Follows a stream from now on. */
export function trackStream(
  stream: Http2Stream,
  counters: StreamCounters,
  contentType: unknown,
): StreamTracker | undefined {
  patchOnce(stream);
  const tracker = pool.pop() ?? new StreamTracker();
  tracker.begin(counters, contentType);
  if (stream.destroyed) {
    // It ended before it began: a request whose signal was aborted already.
    tracker.finish(stream);
    pool.push(tracker);
    return undefined;
  }
  (stream as unknown as StreamMethods)[trackerKey] = tracker;
  return tracker;
}

/**
 * Watches the methods through which everything of a stream passes, on the prototype that all streams share. So a stream
 * gets no listeners, which an application could see and which would cost an allocation each; and one that is not followed
 * costs a look at a property.
 */
function patchOnce(stream: Http2Stream): void {
  // ServerHttp2Stream and ClientHttp2Stream extend the one class that has these methods.
  const prototype: StreamMethods = Object.getPrototypeOf(Object.getPrototypeOf(stream));
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const { push, emit, _write, _writev, _destroy } = prototype;

  prototype.push = function (chunk, encoding) {
    this[trackerKey]?.received(this as unknown as Http2Stream, chunk);
    return push.call(this, chunk, encoding);
  };
  prototype.emit = function (event, ...args) {
    const tracker = this[trackerKey];
    if (tracker !== undefined) {
      if (event === "response") tracker.responded(args[0] as IncomingHttpHeaders);
      else if (event === "trailers") tracker.concluded(args[0] as IncomingHttpHeaders);
      else if (event === "wantTrailers") tracker.wantsTrailers();
    }
    return emit.call(this, event, ...args);
  };
  prototype._write = function (chunk, encoding, callback) {
    const tracker = this[trackerKey];
    tracker?.writing(chunk);
    _write.call(this, chunk, encoding, tracker === undefined ? callback : tracker.onWritten(callback));
  };
  prototype._writev = function (chunks, callback) {
    const tracker = this[trackerKey];
    if (tracker !== undefined) for (const { chunk } of chunks) tracker.writing(chunk);
    _writev.call(this, chunks, tracker === undefined ? callback : tracker.onWritten(callback));
  };
  prototype._destroy = function (error, callback) {
    const tracker = this[trackerKey];
    if (tracker !== undefined) {
      this[trackerKey] = undefined;
      if (tracker.finish(this as unknown as Http2Stream) && pool.length < maxPooled) pool.push(tracker);
    }
    _destroy.call(this, error, callback);
  };
}
