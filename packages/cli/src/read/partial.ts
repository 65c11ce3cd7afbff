import { ChannelzError } from "@wirescope/channelz";

/** What was read, and why reading stopped early if it did. */
export interface Partial<T> {
  readonly items: readonly T[];
  readonly stoppedBy?: ChannelzError | undefined;
}

/** Reads until the end, or until reading fails. Rejects only if nothing was read before it failed. */
export async function readUntilStopped<T>(walk: AsyncIterable<T>): Promise<Partial<T>> {
  const items: T[] = [];
  try {
    for await (const item of walk) items.push(item);
  } catch (error) {
    if (items.length === 0 || !ChannelzError.is(error)) throw error;
    return { items, stoppedBy: error };
  }
  return { items };
}

/** Throws if reading stopped early: to be called when everything that was read has been printed. */
export function assertComplete(stoppedBy: ChannelzError | undefined): void {
  if (stoppedBy === undefined) return;
  throw new ChannelzError(stoppedBy.code, `The output is partial. ${stoppedBy.message}`, { cause: stoppedBy });
}
