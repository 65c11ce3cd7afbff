import { ChannelzError, type ChannelzErrorCode } from "../errors.js";

/** Why one object could not be read although the peer responds to other reads. */
export interface Unreadable {
  readonly unreadable: ChannelzError;
}

// Failures of one object, or one method of the peer. Any other failure would repeat for every object.
const objectCodes: readonly ChannelzErrorCode[] = [
  "INVALID_ARGUMENT",
  "PEER_FAILED",
  "PEER_REFUSED",
  "PEER_TIMEOUT",
  "PEER_WITHOUT_CHANNELZ",
];

/** Whether a read failed only for one object, so that others can still be read. */
export function isOfOneObject(error: unknown, signal: AbortSignal | undefined): error is ChannelzError {
  return ChannelzError.is(error) && objectCodes.includes(error.code) && !signal?.aborted;
}

/**
 * The result of reading one object that a list or another object refers to: undefined if it closed since, and the reason
 * if the peer fails to read it, so that one unreadable object does not hide the others. Rejects if the peer cannot be
 * reached or the caller aborted.
 */
export async function lookUp<T>(
  reading: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | Unreadable | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (ChannelzError.is(error, "NOT_FOUND")) return undefined;
    if (!isOfOneObject(error, signal)) throw error;
    return { unreadable: error };
  }
}
