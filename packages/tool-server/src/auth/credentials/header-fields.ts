import {
  headerNameDefect,
  headerValueDefect,
  isAuthorizationName,
  parseAuthorization,
  parseBasic,
} from "../../config/headers.js";
import type { HeaderDescription } from "../../connection-info.js";
import { ToolServerError } from "../../errors.js";
import { isCredentialHeader, isTenantHeader } from "../../secrets/recognize-secrets.js";

/** Headers to send, by name as written. Frozen; names are unique regardless of case; all are valid. */
export type HeaderFields = Readonly<Record<string, string>>;

/** One header, and the variables in its value. */
export interface HeaderSource {
  readonly name: string;
  readonly value: string;
  readonly variables?: readonly string[] | undefined;
}

export const noHeaders: HeaderFields = fieldsOf([]);

/**
 * Validates headers. Throws CREDENTIAL_UNUSABLE for one that cannot be sent, and CREDENTIAL_CONFLICT if two are the same header;
 * `where` starts the message.
 */
export function createHeaderFields(sources: readonly HeaderSource[], where: string): HeaderFields {
  const names = new Map<string, string>();
  for (const [index, { name, value, variables = [] }] of sources.entries()) {
    const nameDefect = headerNameDefect(name);
    if (nameDefect !== undefined) {
      // Identified by its number: an invalid name may be a value in the wrong place.
      throw new ToolServerError("CREDENTIAL_UNUSABLE", {
        problem: `${where}: the name of header ${index + 1} ${nameDefect}.`,
        advice: "Correct or remove it.",
      });
    }
    const valueDefect = headerValueDefect(value);
    if (valueDefect !== undefined) {
      const origin = variables.length === 0 ? "its value" : `its value, from ${variables.join(" and ")},`;
      throw new ToolServerError("CREDENTIAL_UNUSABLE", {
        problem: `${where}: ${name} cannot be sent, because ${origin} ${valueDefect}.`,
        advice: "Set it to one line of printable characters.",
      });
    }
    const earlier = names.get(name.toLowerCase());
    if (earlier !== undefined) {
      throw new ToolServerError("CREDENTIAL_CONFLICT", {
        problem: `${where}: ${name} and ${earlier} are the same header, because header names are case-insensitive.`,
        advice: "Keep one of the two.",
      });
    }
    names.set(name.toLowerCase(), name);
  }
  return fieldsOf(sources.map(({ name, value }) => [name, value]));
}

/** Merges headers; those of `over` replace those of `base` with the same name, regardless of case. */
export function mergeHeaderFields(base: HeaderFields, over: HeaderFields): HeaderFields {
  const taken = new Set(Object.keys(over).map((name) => name.toLowerCase()));
  const kept = Object.entries(base).filter(([name]) => !taken.has(name.toLowerCase()));
  return fieldsOf([...kept, ...Object.entries(over)]);
}

function fieldsOf(entries: readonly (readonly [string, string])[]): HeaderFields {
  // Without a prototype: __proto__ is a valid header name.
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of entries) fields[name] = value;
  return Object.freeze(fields);
}

/** A header without its value. */
export function describeHeader(
  name: string,
  value: string,
  from: HeaderDescription["from"],
  variables: readonly string[] = [],
): HeaderDescription {
  const scheme = isAuthorizationName(name) ? parseAuthorization(value).scheme : undefined;
  return { name, from, scheme, variables };
}

/**
 * The secrets in a header. A header is secret unless its name or its value says otherwise: redacting too much makes a log line
 * less useful, redacting too little leaks a key.
 */
export function secretsOfHeader(name: string, value: string): string[] {
  if (isAuthorizationName(name)) {
    const { scheme, credentials } = parseAuthorization(value);
    const password = scheme === "Basic" ? parseBasic(credentials)?.password : undefined;
    // A word that is not a known scheme may be a scheme of this server, or the start of the credentials.
    const rest = scheme === undefined ? /^\S+\s+(.+)$/s.exec(credentials)?.[1] : undefined;
    return [credentials, password, rest].filter((secret) => secret !== undefined);
  }
  const isPublicName =
    !/session/i.test(name) &&
    (isTenantHeader(name) || /(^|-)(id|timestamp|date|version|region|user|agent)$/i.test(name));
  // Digits may be a time, unless the name says that they are a key.
  const isTime = /^\d{1,13}$/.test(value) && !isCredentialHeader(name);
  return isPublicName || isTime ? [] : [value];
}
