import { createSecretRegistry } from "@wirescope/tool-server";
import { isObject, type RpcObject, redactStart } from "@wirescope/tool-server/internal";

const maxArguments = 1000;
/** Of all arguments together: searching them takes 50 ms. */
const maxCharacters = 262_144;
/** The length from which a part of an argument is replaced, in characters. */
const partLength = 12;

/**
 * The message of a failed call for a log: redacted, of limited length, and without the arguments that the server may repeat in it, whole or
 * in part. Arguments of fewer than 4 characters, and parts of fewer than 12, stay.
 */
export function loggedReason(
  message: string,
  params: RpcObject,
  maxLength: number,
  redact: (text: string) => string,
): string {
  const given = argumentsOf(params);
  if (given === undefined) return "The error is not logged, because the call has too many arguments to look for them.";
  const values = createSecretRegistry();
  for (const value of given) values.add(value);
  return redactStart(message, maxLength, (text) => withoutParts(values.redact(redact(text)), given));
}

/** The strings and numbers that a client sent, in JSON of any depth; undefined if they are too many or too long. */
function argumentsOf(params: RpcObject): Set<string> | undefined {
  const found = new Set<string>();
  const rest: unknown[] = [params.arguments, params.argument, params.inputResponses];
  let characters = 0;
  for (let count = 0; rest.length > 0; count += 1) {
    if (count + rest.length > maxArguments || characters > maxCharacters) return undefined;
    const value = rest.pop();
    if (typeof value === "string" || typeof value === "number") {
      const text = String(value);
      characters += text.length;
      // Messages are on one line.
      found.add(text).add(text.replace(/[\r\n]\s*/g, " "));
    } else if (Array.isArray(value) || isObject(value)) {
      rest.push(...Object.values(value).slice(0, maxArguments));
    }
  }
  return characters > maxCharacters ? undefined : found;
}

/** The text without the parts of at least 12 characters that it has in common with one of the values. */
function withoutParts(text: string, values: Iterable<string>): string {
  const isCommon = new Map<string, boolean>();
  for (let at = 0; at + partLength <= text.length; at += 1) isCommon.set(partOf(text, at), false);
  for (const value of values) {
    for (let at = 0; at + partLength <= value.length; at += 1) {
      const part = partOf(value, at);
      if (isCommon.has(part)) isCommon.set(part, true);
    }
  }
  let result = "";
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (isCommon.get(partOf(text, at)) !== true) continue;
    if (at === 0 || at > from) result += `${text.slice(from, at)}[redacted]`;
    from = at + partLength;
  }
  return result + text.slice(from);
}

function partOf(text: string, at: number): string {
  return text.slice(at, at + partLength);
}
