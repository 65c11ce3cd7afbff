import type { Interceptor, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import type { ChannelHandle } from "@wirescope/channelz";

/** Counts the calls of one channel. Created once per channel, so that a unary call allocates no functions. */
export class CallCounter {
  readonly channel: ChannelHandle;
  readonly succeeded = (): void => this.channel.callSucceeded();
  readonly failed = (): void => this.channel.callFailed();

  constructor(channel: ChannelHandle) {
    this.channel = channel;
  }
}

/**
 * Counts calls and their outcomes. Must be the last interceptor: the others may turn one call into several attempts or none, and
 * the channel counts the attempts.
 */
export function countCalls(current: () => CallCounter | undefined): Interceptor {
  return (next) => (request) => {
    const counter = current();
    if (counter === undefined) return next(request);
    counter.channel.callStarted();
    const response = next(request);
    // Returns the original promise, so that the call is not delayed.
    response.then(
      request.stream ? (response) => followStream(response, request.signal, counter) : counter.succeeded,
      counter.failed,
    );
    return response;
  };
}

/** Follows a call with a streamed response until the stream ends or is aborted, whether or not the application reads it. */
function followStream(response: UnaryResponse | StreamResponse, signal: AbortSignal, counter: CallCounter): void {
  const { message } = response as StreamResponse;
  let isOver = false;
  const end = (conclude: () => void): void => {
    if (isOver) return;
    isOver = true;
    conclude();
  };
  const onResult = ({ done }: IteratorResult<unknown>): void => {
    if (done === true) end(counter.succeeded);
  };
  const onFailure = (): void => end(counter.failed);
  // Connect also aborts the signal of a successful call, but only after the end of the stream was read.
  if (signal.aborted) onFailure();
  else signal.addEventListener("abort", onFailure, { once: true });
  // Safe to change: the response belongs to this call alone, and nothing else has seen it yet.
  Object.assign(response, { message: watchIterable(message, onResult, onFailure) });
}

function watchIterable<T>(
  iterable: AsyncIterable<T>,
  onResult: (result: IteratorResult<T>) => void,
  onFailure: () => void,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const inner = iterable[Symbol.asyncIterator]();
      const watched: AsyncIterator<T> = {
        next(...args) {
          const result = inner.next(...args);
          result.then(onResult, onFailure);
          return result;
        },
      };
      if (inner.return !== undefined) watched.return = (value) => inner.return!(value);
      if (inner.throw !== undefined) watched.throw = (error) => inner.throw!(error);
      return watched;
    },
  };
}
