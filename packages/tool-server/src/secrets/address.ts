import { isSecretName } from "./secret-names.js";

/** Whether a text has the form of a URL, or of the path of a database file. */
export function isAddress(text: string): boolean {
  return /^(?:jdbc:)?(?:[a-z][a-z0-9+.-]*:\/\/|(?:file|sqlite):)/i.test(text);
}

/**
 * Whether a text is an address without credentials, such as `postgres://app@localhost/dev`: no password, and no parameter whose
 * name suggests a secret. The user of an https address counts as a credential, because keys are passed that way.
 */
export function isPlainAddress(text: string): boolean {
  if (!isAddress(text)) return false;
  const [, scheme = "", authority = ""] = /^(?:jdbc:)?([^:]+):(?:\/\/([^/?#]*))?/.exec(text) ?? [];
  const user = authority.includes("@") ? authority.slice(0, authority.lastIndexOf("@")) : undefined;
  if (user?.includes(":") || (user !== undefined && /^https?$/i.test(scheme))) return false;
  return ![...text.matchAll(/[?&;]([^?&;=]+)=[^?&;]/g)].some(([, name = ""]) => isSecretName(name));
}
