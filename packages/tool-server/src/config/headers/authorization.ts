/** What the value of an Authorization header is made of. */
export interface Authorization {
  /** The scheme, where it is one that is known; a word that is not known may be the token itself. */
  readonly scheme: string | undefined;
  /** What follows the scheme, or all of it. */
  readonly credentials: string;
}

/** The schemes that are recognized in any letter case. */
export const authorizationSchemes: readonly string[] = [
  "Bearer",
  "Basic",
  "Digest",
  "DPoP",
  "Negotiate",
  "Token",
  "ApiKey",
  "AWS4-HMAC-SHA256",
];

/** Takes the value of an Authorization header apart. */
export function parseAuthorization(value: string): Authorization {
  const [, word = "", rest = ""] = /^(\S+)(?:\s+(.*))?$/s.exec(value.trim()) ?? [];
  const scheme = authorizationSchemes.find((known) => known.toLowerCase() === word.toLowerCase());
  return scheme === undefined ? { scheme, credentials: value.trim() } : { scheme, credentials: rest.trim() };
}

/** The user and the password of Basic credentials; undefined where they are not the base64 of `user:password`. */
export function parseBasic(credentials: string): { readonly user: string; readonly password: string } | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) return undefined;
  const text = Buffer.from(credentials, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Whether a header is one that the scheme-and-credentials form holds for. */
export function isAuthorizationName(name: string): boolean {
  return /^(proxy-)?authorization$/i.test(name);
}
