import { ToolServerError } from "./errors.js";

/** The failure of what must fail, and in our words. */
export async function failureOf(promise: Promise<unknown>): Promise<ToolServerError> {
  const error = await promise.then(
    (value) => new Error(`It did not fail, but gave ${String(value)}.`),
    (reason: unknown) => reason,
  );
  if (!ToolServerError.is(error)) throw error;
  return error;
}
