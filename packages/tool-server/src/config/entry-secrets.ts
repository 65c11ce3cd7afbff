import { findSecretShapes } from "../secrets/recognize-secrets.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { decodeLeniently } from "../url.js";
import type { TemplateField } from "./entry.js";

/** Registers a value, and the password in it if it is a URL or Basic credentials. */
export function registerSecret(value: string, field: TemplateField, secrets: SecretRegistry): void {
  secrets.add(value);
  const password = /^[\w+.-]+:\/\/[^/?#@]*?:([^/?#@]+)@/.exec(value)?.[1];
  if (password !== undefined) {
    secrets.add(password);
    secrets.add(decodeLeniently(password));
  }
  if (!/^Basic /i.test(field.template.text)) return;
  const [, decoded] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, "base64").toString("utf8")) ?? [];
  if (decoded !== undefined) secrets.add(decoded);
}

/** Why a value looks like a credential; undefined if it does not. */
export function credentialIn(value: string, credentials: SecretRegistry): string | undefined {
  if (credentials.redact(value) !== value) return "contains a credential that the entry uses elsewhere";
  const [shape] = findSecretShapes(value.replace(/^([a-z]+:\/\/[^/?]*).*$/i, "$1"));
  return shape && `looks like ${shape.looksLike}`;
}
