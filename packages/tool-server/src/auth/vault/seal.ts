import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";
import { parseJsonObject } from "../../json-object.js";

const format = "wirescope-sealed";
const version = 1;
const cipherName = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** The result of decrypting a string. */
type Opened =
  | { readonly text: string }
  /** Why it cannot be decrypted, as the end of a sentence that starts with "it". */
  | { readonly problem: string };

/**
 * Encrypts a string with AES-256-GCM and a random nonce. `boundTo` says what the text is and where it belongs: it cannot be
 * decrypted elsewhere.
 */
export function sealText(key: KeyObject, boundTo: string, text: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(boundTo, "utf8"));
  const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  const parts = { nonce, tag: cipher.getAuthTag(), data };
  const encoded = Object.entries(parts).map(([name, bytes]) => [name, bytes.toString("base64")]);
  return `${JSON.stringify({ format, version, ...Object.fromEntries(encoded) })}\n`;
}

/** Decrypts the result of `sealText` with the same key and `boundTo`. Does not throw. */
export function openSealedText(key: KeyObject, boundTo: string, sealed: string): Opened {
  const parts = parseJsonObject(sealed);
  if (parts?.format !== format) return { problem: "is damaged, or was written by another program" };
  if (parts.version !== version) return { problem: "was written by another version of Wirescope" };
  const { nonce, tag, data } = parts;
  if (typeof nonce !== "string" || typeof tag !== "string" || typeof data !== "string") {
    return { problem: "is damaged" };
  }
  try {
    const decipher = createDecipheriv(cipherName, key, Buffer.from(nonce, "base64"), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(boundTo, "utf8"));
    decipher.setAuthTag(Buffer.from(tag, "base64"));
    const text = Buffer.concat([decipher.update(Buffer.from(data, "base64")), decipher.final()]);
    return { text: text.toString("utf8") };
  } catch {
    return { problem: "was changed, was moved here, or was encrypted with another key" };
  }
}
