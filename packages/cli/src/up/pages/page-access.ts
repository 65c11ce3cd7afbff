import { createHash, randomBytes } from "node:crypto";

/** Where a link to a page leads first: its ticket is exchanged for a cookie there. */
export const entrancePath = "/";

/** Who may see the pages of a gateway: a browser that came by a fresh link. */
export interface PageAccess {
  /**
   * The path of the status page; all pages are below it. It cannot be guessed: browsers send a cookie to every port of a host,
   * so a path that other programs do not know keeps it from them.
   */
  readonly basePath: string;
  /** A link to a path below the base path. It works once, for 10 minutes. */
  linkTo(origin: string, path: string): string;
  /** Exchanges a ticket for the path of its page and the value of `Set-Cookie`. Undefined if it was used, has expired or is wrong. */
  redeem(ticket: string, isSecure: boolean): { readonly path: string; readonly cookie: string } | undefined;
  /** Whether a `Cookie` header holds a cookie that a ticket was exchanged for, in the last 12 hours. */
  admits(cookies: string | undefined): boolean;
}

const ticketMs = 10 * 60_000;
const sessionMs = 12 * 3_600_000;
const maxKept = 64;
const cookieName = "wirescope_page";

export function createPageAccess(now: () => number = Date.now): PageAccess {
  const basePath = `/page/${randomText(16)}`;
  const tickets = createExpiringMap<string>(ticketMs, now);
  const sessions = createExpiringMap<true>(sessionMs, now);
  return {
    basePath,
    linkTo: (origin, path) => `${origin}${entrancePath}?ticket=${tickets.add(path)}`,
    redeem(ticket, isSecure) {
      const path = tickets.take(ticket);
      if (path === undefined) return undefined;
      const attributes = `Path=${basePath}; HttpOnly; SameSite=Strict; Max-Age=${sessionMs / 1000}`;
      const cookie = `${cookieName}=${sessions.add(true)}; ${attributes}${isSecure ? "; Secure" : ""}`;
      return { path, cookie };
    },
    admits(cookies = "") {
      const given = cookies.split(";").map((cookie) => cookie.trim());
      return given.some((cookie) => {
        return cookie.startsWith(`${cookieName}=`) && sessions.has(cookie.slice(cookieName.length + 1));
      });
    },
  };
}

interface ExpiringMap<Value> {
  /** Stores a value and returns the secret that is its key. Beyond 64 the oldest is dropped. */
  add(value: Value): string;
  has(secret: string): boolean;
  take(secret: string): Value | undefined;
}

/** Keyed by a hash of the secret, so that the time of a lookup says nothing about a secret. */
function createExpiringMap<Value>(lifetimeMs: number, now: () => number): ExpiringMap<Value> {
  const kept = new Map<string, { readonly value: Value; readonly until: number }>();
  const find = (secret: string): Value | undefined => {
    const found = kept.get(digest(secret));
    return found !== undefined && now() < found.until ? found.value : undefined;
  };
  return {
    add(value) {
      const secret = randomText(32);
      kept.set(digest(secret), { value, until: now() + lifetimeMs });
      const [oldest] = kept.keys();
      if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
      return secret;
    },
    has: (secret) => find(secret) !== undefined,
    take(secret) {
      const value = find(secret);
      kept.delete(digest(secret));
      return value;
    },
  };
}

function randomText(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
