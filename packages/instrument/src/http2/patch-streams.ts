import type { Http2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { guardNode } from "../guard-listener.js";
import { unreadChunks } from "./stream-internals.js";
import { type StreamCounters, StreamTracker } from "./stream-tracker.js";

const trackerKey = Symbol("wirescope.tracker");
/** Trackers kept for reuse, at most `maxPooled`. */
const pool: StreamTracker[] = [];
const maxPooled = 1024;

type WriteCallback = (error?: Error | null) => void;

/** The methods of Node's streams that are patched. */
interface StreamMethods {
  [trackerKey]?: StreamTracker | undefined;
  push(chunk: unknown, encoding?: BufferEncoding): boolean;
  destroy(error?: Error, callback?: WriteCallback): this;
  _write(chunk: Uint8Array, encoding: BufferEncoding, callback: WriteCallback): void;
  _writev(chunks: { readonly chunk: Uint8Array }[], callback: WriteCallback): void;
  _final(callback: WriteCallback): void;
  _destroy(error: Error | null, callback: WriteCallback): void;
}

interface ClientStreamMethods extends StreamMethods {
  emit(event: string | symbol, ...args: unknown[]): boolean;
}

/** The options of a response that matter here. */
interface ResponseOptions {
  readonly waitForTrailers?: boolean;
}

type PushCallback = (
  error: Error | null,
  pushed: Http2Stream,
  headers: OutgoingHttpHeaders,
  ...rest: unknown[]
) => void;

interface ServerStreamMethods extends StreamMethods {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  respond(headers?: OutgoingHttpHeaders, options?: ResponseOptions): void;
  respondWithFD(fd: unknown, headers?: object, options?: object): void;
  respondWithFile(path: unknown, headers?: object, options?: object): void;
  pushStream(headers: OutgoingHttpHeaders, options: unknown, callback?: unknown): void;
}

let areStreamsWatched = false;
let areClientStreamsWatched = false;
let areServerStreamsWatched = false;

type TrackStream = (
  stream: Http2Stream,
  counters: StreamCounters,
  requestHeaders: IncomingHttpHeaders | OutgoingHttpHeaders | undefined,
) => StreamTracker | undefined;

/** Follows a stream from now on. */
export const trackStream: TrackStream = guardNode<Parameters<TrackStream>, StreamTracker | undefined>(
  (stream, counters, requestHeaders) => {
    watchStreams(stream, counters.isClient);
    const tracker = pool.pop() ?? new StreamTracker();
    tracker.begin(counters, requestHeaders);
    if (stream.destroyed) {
      // The request's signal was already aborted.
      tracker.finish(stream);
      pool.push(tracker);
      return undefined;
    }
    (stream as unknown as StreamMethods)[trackerKey] = tracker;
    // Data that was read from the socket before HTTP/2 took it over is delivered before the "stream" event.
    if (!counters.isClient && stream.readableLength > 0) {
      for (const chunk of unreadChunks(stream)) tracker.received(stream, chunk);
    }
    return tracker;
  },
);

const observeReceived = guardNode((tracker: StreamTracker, stream: Http2Stream, chunk: unknown): void =>
  tracker.received(stream, chunk),
);
const observeAllWritten = guardNode((tracker: StreamTracker, stream: Http2Stream): void => tracker.allWritten(stream));
const observeEnd = guardNode((tracker: StreamTracker, stream: Http2Stream): boolean => tracker.finish(stream));

/**
 * Patches the methods that all data of a stream passes through, on the shared prototypes, because listeners would be visible to
 * the application and cost an allocation each. The overhead for a stream that is not followed is one property read.
 */
function watchStreams(stream: Http2Stream, isClient: boolean): void {
  if (isClient ? areClientStreamsWatched : areServerStreamsWatched) return;
  const own = Object.getPrototypeOf(stream);
  if (isClient) {
    areClientStreamsWatched = true;
    watchReceivedResponses(own);
  } else {
    areServerStreamsWatched = true;
    watchSentResponses(own);
    watchPushes(own);
  }
  if (areStreamsWatched) return;
  areStreamsWatched = true;
  // Client and server streams extend the same class, which has the other methods.
  watchData(Object.getPrototypeOf(own));
}

function watchData(prototype: StreamMethods): void {
  const { push, _write, _writev, _final, _destroy } = prototype;
  prototype.push = function (chunk, encoding) {
    const tracker = this[trackerKey];
    if (tracker !== undefined) observeReceived(tracker, this as unknown as Http2Stream, chunk);
    return push.call(this, chunk, encoding);
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
  prototype._final = function (callback) {
    const tracker = this[trackerKey];
    if (tracker !== undefined) observeAllWritten(tracker, this as unknown as Http2Stream);
    _final.call(this, callback);
  };
  prototype._destroy = function (error, callback) {
    const tracker = this[trackerKey];
    if (tracker !== undefined) {
      this[trackerKey] = undefined;
      if (observeEnd(tracker, this as unknown as Http2Stream) && pool.length < maxPooled) pool.push(tracker);
    }
    _destroy.call(this, error, callback);
  };
}

/** A client receives a response as events; that of a pushed stream is named "push". */
function watchReceivedResponses(prototype: ClientStreamMethods): void {
  const { emit } = prototype;
  prototype.emit = function (event) {
    const tracker = this[trackerKey];
    // biome-ignore lint/complexity/noArguments: passed on as they are, they cost no array an event
    const args = arguments;
    if (tracker !== undefined) {
      if (event === "response" || event === "push") tracker.responded(args[1] as IncomingHttpHeaders);
      else if (event === "trailers") tracker.trailersReceived(args[1] as IncomingHttpHeaders);
    }
    return emit.apply(this, args as unknown as [string]);
  };
}

/**
 * The response options say whether trailers follow the last data. Node ends the writable side of a response without a body, and
 * then sends no trailers, whatever the options say.
 */
function watchSentResponses(prototype: ServerStreamMethods): void {
  const { respond, respondWithFD, respondWithFile } = prototype;
  prototype.respond = function (headers, options) {
    // Before Node's method, which ends a response without a body at once. Node rejects a second response.
    if (!this.headersSent) this[trackerKey]?.responding(headers);
    respond.call(this, headers, options);
    if (options?.waitForTrailers && !this.writableEnded) this[trackerKey]?.waitsForTrailers();
  };
  prototype.respondWithFD = function (fd, headers, options) {
    if (!this.headersSent) followFile(this);
    respondWithFD.call(this, fd, headers, options);
  };
  prototype.respondWithFile = function (path, headers, options) {
    if (!this.headersSent) followFile(this);
    respondWithFile.call(this, path, headers, options);
  };
}

/** How much of a file was sent is known only until its stream is destroyed, so `destroy` is patched on these streams. */
function followFile(stream: ServerStreamMethods): void {
  const tracker = stream[trackerKey];
  if (tracker === undefined) return;
  tracker.respondingWithFile();
  const { destroy } = stream;
  const watched: typeof destroy = function (this: ServerStreamMethods, error, callback) {
    this[trackerKey]?.closing(this as unknown as Http2Stream);
    return destroy.call(this, error, callback) as ServerStreamMethods;
  };
  Object.defineProperty(stream, "destroy", { value: watched, configurable: true, writable: true, enumerable: false });
}

/** A push is a stream that the server starts itself, in addition to the requested one. */
function watchPushes(prototype: ServerStreamMethods): void {
  const { pushStream } = prototype;
  prototype.pushStream = function (headers, options, callback) {
    const counters = this[trackerKey]?.counters;
    const onPushed = (typeof options === "function" ? options : callback) as PushCallback | undefined;
    if (counters === undefined || typeof onPushed !== "function")
      return pushStream.call(this, headers, options, callback);
    const pushes: StreamCounters = { ...counters, calls: [], arePushed: true };
    const watched: PushCallback = (error, pushed, ...rest) => {
      if (!error) trackStream(pushed, pushes, undefined);
      onPushed(error, pushed, ...rest);
    };
    return pushStream.call(this, headers, typeof options === "function" ? undefined : options, watched);
  };
}
