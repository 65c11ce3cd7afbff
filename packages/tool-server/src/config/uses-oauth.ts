import { isCredentialHeader } from "../secrets/secret-names.js";
import type { Entry } from "./entry.js";
import { variableUses } from "./substitute-entry.js";

/**
 * Whether a server is signed in to by OAuth, should it ask: it is reached by HTTP and its entry brings no credential, be it a helper,
 * an Authorization or a key. What an entry brings and the server refuses never falls into OAuth.
 */
export function usesOAuth(entry: Entry): boolean {
  if (entry.type !== "http" && entry.type !== "sse") return false;
  if (entry.headersHelper !== undefined) return false;
  if (entry.headers.some(({ name }) => /^authorization$/i.test(name) || isCredentialHeader(name))) return false;
  return !variableUses(entry).some(({ field, isSecret }) => isSecret && field.startsWith("headers."));
}
