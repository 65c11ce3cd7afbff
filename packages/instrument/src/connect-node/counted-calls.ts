import type { Interceptor, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import type { ChannelHandle } from "@wirescope/channelz";

/** Counts the calls of one channel. Made once a channel, so that a unary call makes no functions. */
export class CallCounter {
  readonly channel: ChannelHandle;
  readonly succeeded = (): void => this.channel.callSucceeded();
  readonly failed = (): void => this.channel.callFailed();

  constructor(channel: ChannelHandle) {
    this.channel = channel;
  }
}

/**
 * Counts calls with the outcome that the application sees. To be the last interceptor: what the others make of a call, such
 * as several attempts or none, is what reaches the channel.
 */
export function countCalls(current: () => CallCounter | undefined): Interceptor {
  return (next) => (request) => {
    const counter = current();
    if (counter === undefined) return next(request);
    counter.channel.callStarted();
    const response = next(request);
    // The same promise is returned, so that nothing happens a turn later than it would.
    response.then(
      request.stream ? (response) => followStream(response, request.signal, counter) : counter.succeeded,
      counter.failed,
    );
    return response;
  };
}

/** Follows a call whose response is a stream, to the end of that or until it is aborted, whether or not anybody reads it. */
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
  // Connect aborts the signal when a call has succeeded too, but only after its end was read.
  if (signal.aborted) onFailure();
  else signal.addEventListener("abort", onFailure, { once: true });
  // The response belongs to this call alone, and nothing else has seen it yet.
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
