import { isTenantHeader } from "../secrets/secret-names.js";
import { isAuthorizationName, parseAuthorization, parseBasic } from "./authorization.js";

/**
 * The secrets in a header. A header is taken for secret unless its name or its value says that it is not: to hide too much
 * costs a line of a log, to hide too little costs a key.
 */
export function secretsOfHeader(name: string, value: string): string[] {
  if (isAuthorizationName(name)) {
    const { scheme, credentials } = parseAuthorization(value);
    const password = scheme === "Basic" ? parseBasic(credentials)?.password : undefined;
    return [credentials, ...(password === undefined ? [] : [password])];
  }
  const isPublicName = isTenantHeader(name) || /(^|-)(id|timestamp|date|version|region|user|agent)$/i.test(name);
  return isPublicName || /^\d{1,13}$/.test(value) ? [] : [value];
}
