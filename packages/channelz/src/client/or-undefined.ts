import { ChannelzError } from "../errors.js";

/** The answer to a lookup, or undefined where the object is gone: it lived when its ref was listed, and need not any more. */
export async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (ChannelzError.is(error, "NOT_FOUND")) return undefined;
    throw error;
  }
}
