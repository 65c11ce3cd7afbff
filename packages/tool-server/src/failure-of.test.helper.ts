import { ToolServerError } from "./errors.js";

/** The ToolServerError with which a promise must reject. */
export async function failureOf(promise: Promise<unknown>): Promise<ToolServerError> {
  const error = await promise.then(
    (value) => new Error(`It did not fail, but gave ${String(value)}.`),
    (reason: unknown) => reason,
  );
  if (!ToolServerError.is(error)) throw error;
  return error;
}
