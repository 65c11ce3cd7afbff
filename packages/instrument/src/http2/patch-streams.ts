import type { Http2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { type StreamCounters, StreamTracker } from "./stream-tracker.js";

const trackerKey = Symbol("wirescope.tracker");
/** Trackers to be used again; more are not kept. */
const pool: StreamTracker[] = [];
const maxPooled = 1024;

type WriteCallback = (error?: Error | null) => void;

/** The methods of Node's streams that are watched. All but `push` are those that a Duplex must have. */
interface StreamMethods {
  [trackerKey]?: StreamTracker | undefined;
  push(chunk: unknown, encoding?: BufferEncoding): boolean;
  _write(chunk: Uint8Array, encoding: BufferEncoding, callback: WriteCallback): void;
  _writev(chunks: { readonly chunk: Uint8Array }[], callback: WriteCallback): void;
  _final(callback: WriteCallback): void;
  _destroy(error: Error | null, callback: WriteCallback): void;
}

interface ClientStreamMethods extends StreamMethods {
  emit(event: string | symbol, ...args: unknown[]): boolean;
}

/** What each way to answer may ask for among its options. */
interface AnswerOptions {
  readonly waitForTrailers?: boolean;
}

interface ServerStreamMethods extends StreamMethods {
  readonly writableEnded: boolean;
  respond(headers?: OutgoingHttpHeaders, options?: AnswerOptions): void;
  respondWithFD(fd: unknown, headers?: object, options?: AnswerOptions): void;
  respondWithFile(path: unknown, headers?: object, options?: AnswerOptions): void;
}

let areStreamsWatched = false;
let areClientStreamsWatched = false;
let areServerStreamsWatched = false;

/** Follows a stream from now on. */
export function trackStream(
  stream: Http2Stream,
  counters: StreamCounters,
  contentType: unknown,
): StreamTracker | undefined {
  watchStreams(stream, counters.isClient);
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
 * Watches the methods through which everything of a stream passes, on the prototypes that all streams share. So a stream
 * gets no listeners, which an application could see and which would cost an allocation each; and one that is not followed
 * costs a look at a property.
 */
function watchStreams(stream: Http2Stream, isClient: boolean): void {
  if (isClient ? areClientStreamsWatched : areServerStreamsWatched) return;
  const own = Object.getPrototypeOf(stream);
  if (isClient) {
    areClientStreamsWatched = true;
    watchAnswers(own);
  } else {
    areServerStreamsWatched = true;
    watchTrailers(own);
  }
  if (areStreamsWatched) return;
  areStreamsWatched = true;
  // Both kinds of streams extend the one class that has the rest.
  watchData(Object.getPrototypeOf(own));
}

function watchData(prototype: StreamMethods): void {
  const { push, _write, _writev, _final, _destroy } = prototype;
  prototype.push = function (chunk, encoding) {
    this[trackerKey]?.received(this as unknown as Http2Stream, chunk);
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
    this[trackerKey]?.allWritten(this as unknown as Http2Stream);
    _final.call(this, callback);
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

/** What a client is answered comes as events. */
function watchAnswers(prototype: ClientStreamMethods): void {
  const { emit } = prototype;
  prototype.emit = function (event) {
    const tracker = this[trackerKey];
    // biome-ignore lint/complexity/noArguments: passed on as they are, they cost no array an event
    const args = arguments;
    if (tracker !== undefined) {
      if (event === "response") tracker.responded(args[1] as IncomingHttpHeaders);
      else if (event === "trailers") tracker.concluded(args[1] as IncomingHttpHeaders);
    }
    return emit.apply(this, args as unknown as [string]);
  };
}

/**
 * Whether a server's last data is the end, or trailers are to come, is among the options of its answer. An answer without a
 * body has its writable side ended by Node, and then no trailers come whatever the options say.
 */
function watchTrailers(prototype: ServerStreamMethods): void {
  const { respond, respondWithFD, respondWithFile } = prototype;
  function answered(stream: ServerStreamMethods, options: AnswerOptions | undefined): void {
    if (options?.waitForTrailers && !stream.writableEnded) stream[trackerKey]?.waitsForTrailers();
  }
  prototype.respond = function (headers, options) {
    // Before Node does, which ends an answer without a body at once.
    this[trackerKey]?.answering(headers?.["content-type"]);
    respond.call(this, headers, options);
    answered(this, options);
  };
  prototype.respondWithFD = function (fd, headers, options) {
    respondWithFD.call(this, fd, headers, options);
    answered(this, options);
  };
  prototype.respondWithFile = function (path, headers, options) {
    respondWithFile.call(this, path, headers, options);
    answered(this, options);
  };
}
