import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../json-object.js";
import { printableText } from "../../printable-text.js";
import type { VaultKey } from "./vault.js";

/** The parts of a key, in the order in which they are hashed; a new part changes the format. */
const parts = [
  "owner",
  "profile",
  "server",
  "resource",
  "issuer",
  "tenant",
  "item",
] as const satisfies (keyof VaultKey)[];

/**
 * The storage id of an entry: SHA-256 over all parts of its key, in hexadecimal. Throws a TypeError if a part is missing, because
 * two keys could then have the same id.
 */
export function storageIdOf(key: VaultKey): string {
  const values = parts.map((part) => {
    const value: unknown = key[part];
    if (typeof value !== "string")
      throw new TypeError(`The part "${part}" of a vault key is missing; use "" for none.`);
    return value;
  });
  // Version 1 had no owner.
  const versioned = key.owner === "" ? [1, ...values.slice(1)] : [2, ...values];
  // As JSON, the parts cannot run into each other, and a lone surrogate is not replaced.
  return createHash("sha256")
    .update(JSON.stringify(["wirescope-vault-key", ...versioned]))
    .digest("hex");
}

/** Parses a stored key, without other fields; undefined if it is not one. Old ones have no owner. */
export function parseVaultKey(value: unknown): VaultKey | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const given: Record<string, unknown> = { owner: "", ...value };
  if (!parts.every((part) => typeof given[part] === "string")) return undefined;
  return Object.fromEntries(parts.map((part) => [part, given[part]])) as unknown as VaultKey;
}

/** Whether a key has these parts. */
export function matchesKey(key: VaultKey, wanted: Partial<VaultKey>): boolean {
  return parts.every((part) => wanted[part] === undefined || wanted[part] === key[part]);
}

/** A key, for messages. */
export function describeVaultKey(key: VaultKey): string {
  const quoted = (text: string): string => `"${printableText(text, 80)}"`;
  return `${printableText(key.item, 40) || "entry"} of ${quoted(key.server)} in profile ${quoted(key.profile)}`;
}

/** Larger than any set of tokens; Wirescope did not write a file that exceeds it. */
export const maxEntryBytes: number = 1024 * 1024;

/** The JSON text of an entry. Throws a TypeError if the value is not an object, or too large. */
export function entryToJson(value: JsonObject): string {
  if (!isJsonObject(value)) throw new TypeError("A vault stores JSON objects only.");
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > maxEntryBytes / 2) {
    throw new TypeError(`A vault entry has at most ${maxEntryBytes / 2} bytes.`);
  }
  return text;
}
