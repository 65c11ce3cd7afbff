import { isAuthorizationName, parseAuthorization } from "../../config/headers/authorization.js";
import type { HeaderDescription } from "../../connection-info.js";

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
