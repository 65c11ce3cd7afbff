import { isPlainAddress } from "../secrets/address.js";
import { isPlaceholder } from "../secrets/placeholder.js";
import { createSecretRegistry } from "../secrets/redactor.js";
import { isSecretName } from "../secrets/secret-names.js";
import { bitsPerCharacter, findSecretShapes, type SecretShape } from "../secrets/secret-shapes.js";

/** A credential in a text: where it is, and what it is, without the credential. */
export interface FoundCredential {
  readonly line: number;
  readonly column: number;
  /** As "the value of API_TOKEN" or "what looks like a GitHub token". */
  readonly what: string;
}

/** A variable that holds a credential. */
export interface KnownCredential {
  readonly variable: string;
  readonly value: string;
}

export interface CredentialSearchOptions {
  /** Whether a line such as `API_TOKEN=abcd1234` is a credential; in a document it is more often an example. Default false. */
  readonly findsAssignments?: boolean;
}

/** Finds credentials in texts. */
export type CredentialSearch = (text: string, options?: CredentialSearchOptions) => FoundCredential[];

const maxLine = 4_096;
/** How far before a value its name is looked for: the time to do so grows with the square of the length. */
const maxName = 128;
const maxFound = 20;

/**
 * A search for credentials: by these values, plain or encoded, and by shape. Placeholders and examples are not found, nor are values
 * that are too short or too common to tell. At most 20 are found in a text, each in its line.
 */
export function createCredentialSearch(known: readonly KnownCredential[]): CredentialSearch {
  const values = new Map<string, ReturnType<typeof createSecretRegistry>>();
  const all = createSecretRegistry();
  for (const { variable, value } of known) {
    const password = /^[\w+.-]+:\/\/[^/?#@]*?:([^/?#@]+)@/.exec(value)?.[1] ?? "";
    for (const secret of [value.trim(), password].filter(isDistinctive)) {
      const registry = values.get(variable) ?? createSecretRegistry();
      registry.add(secret);
      all.add(secret);
      values.set(variable, registry);
    }
  }
  return (text, { findsAssignments = false } = {}) => {
    const found: FoundCredential[] = [];
    const hasValue = values.size > 0 && all.redact(text) !== text;
    const lines = text.split("\n");
    for (const [index, whole] of lines.entries()) {
      if (found.length >= maxFound) break;
      const line = whole.slice(0, maxLine);
      const isHit = hasValue && all.redact(whole) !== whole;
      const [variable] = isHit ? ([...values].find(([, registry]) => registry.redact(whole) !== whole) ?? []) : [];
      const add = (what: string, column = 1): void => void found.push({ line: index + 1, column, what });
      if (variable !== undefined) {
        add(`the value of ${variable}`);
        continue;
      }
      const shape = findSecretShapes(line).find((each) => isCredential(each, line, lines.slice(index + 1, index + 3)));
      const name = shape === undefined && findsAssignments ? assignedName(line) : undefined;
      if (shape !== undefined) add(`what looks like ${shape.looksLike}`, line.indexOf(shape.value) + 1);
      else if (name !== undefined) add(`a value for ${name}`);
    }
    return found;
  };
}

/** Whether a value is long and unusual enough to be the same by more than chance. */
function isDistinctive(value: string): boolean {
  return (
    value.length >= 8 && !isExample(value) && !isPlainAddress(value) && (value.length >= 16 || !/^[a-z]+$/i.test(value))
  );
}

const exampleWords =
  /example|your|placeholder|dummy|sample|redacted|change-?me|replace|insert|x{3}|\.{3}|\u2026|\*{3}|[<>]|\$\{|abcdef|123456|(.)\1{5}/i;
const commonPasswords = /pass|secret|user|admin|root|token|test|local|postgres/i;

function isExample(value: string): boolean {
  return isPlaceholder(value) || exampleWords.test(value) || bitsPerCharacter(value) < 2;
}

function isCredential({ value, looksLike, isCertain }: SecretShape, line: string, next: readonly string[]): boolean {
  if (looksLike === "a private key") {
    return [line.slice(line.indexOf("-----BEGIN")).replace(/^.*?KEY-----(?:\\n)?/, ""), ...next].some((text) =>
      /^\s*[A-Za-z0-9+/=]{40}/.test(text),
    );
  }
  if (isExample(value)) return false;
  if (looksLike === "a JSON Web Token") return isToken(value);
  if (looksLike === "a password in a URL") {
    return value.length >= 8 && /\d/.test(value) && /[a-z]/i.test(value) && !commonPasswords.test(value);
  }
  if (isCertain) return true;
  if (/fingerprint|gpg|pgp|commit|sha-?\d|checksum|digest/i.test(line)) return false;
  // Checksums, identifiers and the like are random as well: the name beside it says which it is.
  const at = line.indexOf(value);
  const [, name] =
    /([A-Za-z][\w-]*)["'`]?\s*[:=]\s*["'`]?(?:[A-Za-z]+\s+)?$/.exec(line.slice(Math.max(0, at - maxName), at)) ?? [];
  return name !== undefined && isSecretName(name);
}

/** Whether it has the header of a token, and no claims of an example. */
function isToken(value: string): boolean {
  const [header = "", claims = ""] = value.split(".").map((part) => Buffer.from(part, "base64url").toString("utf8"));
  return /"alg"/.test(header) && !isExample(claims) && !/John Doe/.test(claims);
}

/** The name that a line of a shell or an environment file gives a literal credential. */
function assignedName(line: string): string | undefined {
  const [, name = "", , value = ""] =
    /^\s*(?:export\s+)?([A-Za-z_]\w*)=(["']?)([^\s"'$`(){}[\]]{8,})\2\s*;?\s*(?:#.*)?$/.exec(line) ?? [];
  if (!isSecretName(name) || !/\d/.test(value) || !/[a-z]/i.test(value) || /^[.~]?\//.test(value)) return undefined;
  return isExample(value) || isPlainAddress(value) ? undefined : name;
}
