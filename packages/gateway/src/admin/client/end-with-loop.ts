import type { CallOptions } from "@connectrpc/connect";

/**
 * Opens a stream for a loop, and ends it with the loop, however that is left. Connect's own goes on until its signal aborts: it would keep
 * a process alive, and the gateway at work for nobody.
 */
export async function* endWithLoop<Message>(
  open: (options: CallOptions) => AsyncIterable<Message>,
  options: CallOptions = {},
): AsyncGenerator<Message, void> {
  const left = new AbortController();
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
  try {
    yield* open({ ...options, signal });
  } finally {
    left.abort();
  }
}
