import type { AuthorizationServer } from "./authorization-server.js";

export interface ScopeChoice {
  /** The scope of the challenge: authoritative for what was asked of the server. */
  readonly challenged: readonly string[];
  /** What the configuration asks for. */
  readonly configured: readonly string[];
  /** What the tool server's metadata gives for basic use. */
  readonly resourceScopes: readonly string[] | undefined;
  /** What was asked for before, so that nothing granted is lost. */
  readonly previous: readonly string[];
  readonly server: Pick<AuthorizationServer, "scopes">;
}

/** More than this is no choice of permissions, but an attempt to hide one among many. */
export const mostScopes = 64;
const longestScope = 256;

/**
 * The scopes to ask for: those of the challenge; else those of the configuration; else those for basic use of the tool server; with those
 * asked for before. Never those that the authorization server supports, which are everybody's. With them `offline_access`,
 * where it is offered, so that there is a refresh token. None where nobody names any.
 */
export function selectScopes(choice: ScopeChoice): string[] {
  const { challenged, configured, resourceScopes = [], previous, server } = choice;
  const wanted = [challenged, configured, resourceScopes].find((scopes) => scopes.length > 0) ?? [];
  const union = unionOf(previous, wanted);
  if (union.length === 0) return [];
  return server.scopes?.includes("offline_access") ? unionOf(union, ["offline_access"]) : union;
}

/** All scopes of both, each once, in order. */
export function unionOf(first: readonly string[], second: readonly string[]): string[] {
  return [...new Set([...first, ...second])];
}

/** Those of `wanted` that are not among `had`. */
export function scopesBeyond(had: readonly string[], wanted: readonly string[]): string[] {
  return wanted.filter((scope) => !had.includes(scope));
}

/** The scopes of a text (RFC 6749, section 3.3); what no scope can be is passed over, as is what goes beyond the limit. */
export function parseScopes(text: string | undefined): string[] {
  const scopes = (text ?? "").split(/ +/).filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  return [...new Set(scopes.filter((scope) => scope.length <= longestScope))].slice(0, mostScopes);
}
