export interface ScopeChoice {
  readonly challenged: readonly string[];
  /** Whether the challenge asks for more than a token had: then its scopes are requested in any case. Default false. */
  readonly isStepUp?: boolean | undefined;
  /** The configured scopes: the user knows better than the server which ones its authorization server accepts. */
  readonly configured: readonly string[];
  /** The scopes for basic use in the tool server's metadata. */
  readonly resourceScopes: readonly string[] | undefined;
  /** The scopes requested before, so that no granted one is lost. */
  readonly previous: readonly string[];
  readonly server: { readonly scopes?: readonly string[] | undefined };
}

/** A server that requests more scopes than this may try to hide one among many. */
export const maxScopes = 64;
const maxScopeLength = 256;

/**
 * The scopes to request: the configured ones; otherwise those of the challenge; otherwise those for basic use of the tool server; plus
 * those requested before, and those of the challenge if the server demanded more. Never all scopes that the authorization server
 * supports. Plus `offline_access`, if it is supported, to get a refresh token. Empty if there are none.
 */
export function selectScopes(choice: ScopeChoice): string[] {
  const { challenged, configured, resourceScopes = [], previous, server, isStepUp = false } = choice;
  const requested = [configured, challenged, resourceScopes].find((scopes) => scopes.length > 0) ?? [];
  const union = unionOf(unionOf(previous, requested), isStepUp ? challenged : []);
  if (union.length === 0) return [];
  return server.scopes?.includes("offline_access") ? unionOf(union, ["offline_access"]) : union;
}

/** The union of both lists, in order. */
export function unionOf(first: readonly string[], second: readonly string[]): string[] {
  return [...new Set([...first, ...second])];
}

export function scopesBeyond(granted: readonly string[], requested: readonly string[]): string[] {
  return requested.filter((scope) => !granted.includes(scope));
}

/** Parses a scope string (RFC 6749, section 3.3); skips invalid scopes, and those beyond the limit. */
export function parseScopes(text: string | undefined): string[] {
  const scopes = (text ?? "").split(/ +/).filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  return [...new Set(scopes.filter((scope) => scope.length <= maxScopeLength))].slice(0, maxScopes);
}
