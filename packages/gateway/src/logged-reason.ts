import { createSecretRegistry } from "@wirescope/tool-server";
import { isObject, redactStart } from "@wirescope/tool-server/internal";

/** More arguments are not looked for. */
const maxArguments = 1000;

/**
 * The message of a failed call for a log: redacted, of limited length, and without the arguments that the server may repeat in it.
 * Arguments of fewer than 4 characters stay.
 */
export function loggedReason(
  message: string,
  given: unknown,
  maxLength: number,
  redact: (text: string) => string,
): string {
  const values = createSecretRegistry();
  const rest: unknown[] = [given];
  for (let count = 0; rest.length > 0; count += 1) {
    if (count + rest.length > maxArguments)
      return `The error is not logged, because the call has more than ${maxArguments} arguments.`;
    const value = rest.pop();
    if (typeof value === "string" || typeof value === "number") values.add(String(value));
    else if (Array.isArray(value) || isObject(value)) rest.push(...Object.values(value).slice(0, maxArguments));
  }
  return redactStart(message, maxLength, (text) => values.redact(redact(text)));
}
