import type { JsonObject } from "./vault.js";

/** Enough for any set of tokens; what is larger was not meant to rest here. */
export const maxEntryBytes: number = 1024 * 1024;

/** The JSON of an object. Throws a TypeError where it is no object, or too large to be kept. */
export function jsonOf(value: JsonObject): string {
  if (!isJsonObject(value)) throw new TypeError("A vault keeps JSON objects only.");
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > maxEntryBytes / 2) {
    throw new TypeError(`A vault keeps at most ${maxEntryBytes / 2} bytes in an entry.`);
  }
  return text;
}

/** Whether it is an object as JSON has them. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a text is the JSON of; undefined where it is not. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
