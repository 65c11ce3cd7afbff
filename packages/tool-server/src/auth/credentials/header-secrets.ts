import { isAuthorizationName, parseAuthorization, parseBasic } from "../../config/headers/authorization.js";
import { isCredentialHeader, isTenantHeader } from "../../secrets/secret-names.js";

/**
 * The secrets in a header. A header is taken for secret unless its name or its value says that it is not: to hide too much
 * costs a line of a log, to hide too little costs a key.
 */
export function secretsOfHeader(name: string, value: string): string[] {
  if (isAuthorizationName(name)) {
    const { scheme, credentials } = parseAuthorization(value);
    const password = scheme === "Basic" ? parseBasic(credentials)?.password : undefined;
    // A word that is not a known scheme may be one of the server's own, or the start of the credentials.
    const rest = scheme === undefined ? /^\S+\s+(.+)$/s.exec(credentials)?.[1] : undefined;
    return [credentials, password, rest].filter((secret) => secret !== undefined);
  }
  const isPublicName =
    !/session/i.test(name) &&
    (isTenantHeader(name) || /(^|-)(id|timestamp|date|version|region|user|agent)$/i.test(name));
  // Digits may be a time, but not where the name says that they are a key.
  const isTime = /^\d{1,13}$/.test(value) && !isCredentialHeader(name);
  return isPublicName || isTime ? [] : [value];
}
