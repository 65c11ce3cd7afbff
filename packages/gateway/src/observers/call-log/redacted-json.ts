import { isSecretName, redactStart, withoutSecretShapes } from "@wirescope/tool-server/internal";

/** JSON to show to a user. */
export interface JsonText {
  /** Valid JSON, even if parts were omitted. */
  readonly text: string;
  /** Whether parts were omitted because it was too large. */
  readonly isTruncated: boolean;
}

const redacted = "[redacted]";
const omitted = "[omitted]";
/** The maximum length of one string, in characters: secrets are searched by their shape only up to here. */
const maxString = 16_384;
const maxDepth = 32;

/**
 * A value as JSON, without secrets: those that `redact` knows by value, members whose names suggest a secret, and strings that have the
 * form of one. Above `limit` characters the rest is omitted.
 */
export function redactedJson(value: unknown, redact: (text: string) => string, limit: number): JsonText {
  let left = limit;
  let isTruncated = false;
  const textOf = (text: string): string => {
    const start = redactStart(text, maxString, redact);
    if (start.length > maxString) isTruncated = true;
    const result = withoutSecretShapes(start);
    left -= result.length + 8;
    return result;
  };
  const copy = (given: unknown, depth: number): unknown => {
    if (left <= 0 || depth > maxDepth) {
      isTruncated = true;
      return omitted;
    }
    if (typeof given === "string") return textOf(given);
    left -= 8;
    if (typeof given !== "object" || given === null) return given;
    if (Array.isArray(given)) {
      const items: unknown[] = [];
      for (const item of given) {
        items.push(copy(item, depth + 1));
        if (left <= 0) break;
      }
      if (items.length < given.length) isTruncated = true;
      return items;
    }
    // Without a prototype, a member named __proto__ is a member like any other.
    const members: Record<string, unknown> = Object.create(null);
    for (const key of Object.keys(given)) {
      if (left <= 0) {
        isTruncated = true;
        break;
      }
      const item = (given as Record<string, unknown>)[key];
      const isSecret = typeof item === "string" && item !== "" && isSecretName(key);
      members[textOf(key)] = isSecret ? redacted : copy(item, depth + 1);
    }
    return members;
  };
  const text = JSON.stringify(copy(value, 0)) ?? "";
  return { text, isTruncated };
}
