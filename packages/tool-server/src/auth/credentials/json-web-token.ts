import { isAuthorizationName, parseAuthorization } from "../../config/headers.js";

/** The times of a JSON Web Token, in milliseconds since the epoch. Nothing else of a token is reported. */
export interface TokenTimes {
  readonly issuedAt: number | undefined;
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
}

/** The latest time that a Date can represent. */
const latestMs = 8.64e15;

/** The times of the token in a header, not verified; undefined if the value is not a JSON Web Token. */
export function tokenTimesOfHeader(name: string, value: string): TokenTimes | undefined {
  return readTokenTimes(isAuthorizationName(name) ? parseAuthorization(value).credentials : value);
}

/** The times of a JSON Web Token; undefined if the text is not one. The signature is not verified. */
export function readTokenTimes(text: string): TokenTimes | undefined {
  const [, head = "", body = ""] = /^([\w-]+)\.([\w-]+)\.[\w-]*$/.exec(text) ?? [];
  if (typeof readPart(head)?.alg !== "string") return undefined;
  const claims = readPart(body);
  if (claims === undefined) return undefined;
  return { issuedAt: timeOf(claims.iat), notBefore: timeOf(claims.nbf), expiresAt: timeOf(claims.exp) };
}

function readPart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function timeOf(seconds: unknown): number | undefined {
  return typeof seconds === "number" && seconds >= 0 && seconds * 1000 <= latestMs ? seconds * 1000 : undefined;
}
