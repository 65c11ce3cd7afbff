import { createHash, createHmac, randomBytes } from "node:crypto";

/** What a browser may do: a reader sees everything, and only an administrator calls tools or changes something. */
export type PageRights = "administrator" | "reader";

/** A browser that exchanged a ticket in the last 12 hours. */
export interface PageSession {
  /** Identifies the session. Not a secret. */
  readonly id: string;
  readonly rights: PageRights;
  /**
   * Whether this is the session's key, or a proof of it for this run of the gateway. The cookie alone is not enough: browsers send it to
   * every port of a host, so other programs on the machine can see it. The key is in the path of a page, or is proven in a header, and
   * scripts on other ports cannot read it.
   */
  hasKey(key: string | undefined): boolean;
}

/**
 * How a gateway proves to a browser that it knows the browser's session, before the browser sends anything else. A program that took the
 * port of a stopped gateway cannot do it. The browser never sends its key: it sends its own proof, made with the salt. The proof is
 * useless for the next run of the gateway, which has another salt.
 */
export interface ServerProof {
  /** Random, for this run of the gateway. */
  readonly salt: string;
  readonly proof: string;
}

/** The result of redeeming a ticket. */
export interface RedeemedTicket {
  readonly key: string;
  /** The page of the link; undefined for the start page. */
  readonly path: string | undefined;
  /** The value of `Set-Cookie`. */
  readonly cookie: string;
}

/** The page and the rights of a link. */
export interface PageLink {
  /** Default "administrator". */
  readonly rights?: PageRights | undefined;
  /** The path of the page for a session with this key. Default: the start page. */
  readonly path?: ((key: string) => string) | undefined;
}

/** Access to the pages of a gateway, for browsers that opened a fresh link. */
export interface PageAccess {
  /** A link that works once, for 10 minutes. */
  linkTo(origin: string, link?: PageLink): string;
  /** Exchanges a ticket for a session. `host` is the Host header. Undefined if the ticket was used, has expired or is wrong. */
  redeem(ticket: string, host: string | undefined, isSecure: boolean): RedeemedTicket | undefined;
  /**
   * The session whose cookie is in a `Cookie` header. A browser that opened several links has several sessions: the one with this key is
   * preferred. The caller must also check `hasKey`.
   */
  find(cookies: string | undefined, key: string | undefined): PageSession | undefined;
  /** Proves to the scripts of the page that this gateway knows their session. Undefined if it has no session for the cookie. */
  prove(cookies: string | undefined, nonce: string): ServerProof | undefined;
  end(session: PageSession): void;
}

/** The path of a link, where its ticket is exchanged for a cookie. */
export const ticketPath = "/";

const ticketMs = 10 * 60_000;
const sessionMs = 12 * 3_600_000;
const maxKept = 64;
/**
 * Prefixes of cookie names. The port follows, because browsers do not separate cookies by port, and another gateway must not replace our
 * cookie. A new link replaces the cookie, and also the key, which all tabs share. The pages without JavaScript have their own cookie: their
 * links do not change that key.
 */
const scriptCookie = "wirescope_page_";
const plainCookie = "wirescope_status_";

/** A session as it is stored: hashes of its secrets. */
export interface StoredSession {
  readonly id: string;
  readonly keyHash: string;
  readonly rights: PageRights;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** Keeps the sessions, so that open pages continue after a restart. */
export interface SessionStore {
  read(): readonly StoredSession[];
  write(sessions: readonly StoredSession[]): void;
}

export interface PageAccessOptions {
  /** Default: sessions end with the process. */
  readonly store?: SessionStore | undefined;
  readonly now?: (() => number) | undefined;
}

export function createPageAccess({ store, now = Date.now }: PageAccessOptions = {}): PageAccess {
  // Keyed by a hash of the secret, so that the time of a lookup reveals nothing about a secret.
  const tickets = new Map<string, { readonly link: PageLink; readonly until: number }>();
  const sessions = new Map<string, StoredSession>();
  const salt = randomText();
  for (const session of store?.read() ?? []) {
    if (now() < session.until && session.until <= now() + sessionMs) keep(sessions, session.id, session);
  }
  const current = function* (cookies: string | undefined, prefixes: readonly string[]): Generator<StoredSession> {
    for (const secret of secretsOf(cookies, prefixes)) {
      const session = sessions.get(hash(secret));
      if (session !== undefined && now() < session.until) yield session;
    }
  };
  const save = (): void => store?.write([...sessions.values()].filter(({ until }) => now() < until));
  return {
    linkTo(origin, link = {}) {
      const ticket = randomText();
      keep(tickets, hash(ticket), { link, until: now() + ticketMs });
      return `${origin}${ticketPath}?ticket=${ticket}`;
    },
    redeem(ticket, host = "", isSecure) {
      const found = tickets.get(hash(ticket));
      tickets.delete(hash(ticket));
      if (found === undefined || now() >= found.until) return undefined;
      const { link } = found;
      const [secret, key] = [randomText(), randomText()];
      const id = hash(secret);
      const rights = link.rights ?? "administrator";
      keep(sessions, id, { id, keyHash: hash(key), rights, until: now() + sessionMs });
      save();
      const name = `${link.path === undefined ? scriptCookie : plainCookie}${/:(\d+)$/.exec(host)?.[1] ?? "0"}`;
      const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${sessionMs / 1000}`;
      const cookie = `${name}=${secret}; ${attributes}${isSecure ? "; Secure" : ""}`;
      return { key, path: link.path?.(key), cookie };
    },
    find(cookies, key) {
      let found: PageSession | undefined;
      for (const { id, rights, keyHash } of current(cookies, [scriptCookie, plainCookie])) {
        const hasKey = (given: string | undefined): boolean =>
          given !== undefined && (hash(given) === keyHash || hash(given) === hash(mac(keyHash, `page ${salt}`)));
        const session: PageSession = { id, rights, hasKey };
        if (hasKey(key)) return session;
        found ??= session;
      }
      return found;
    },
    prove(cookies, nonce) {
      const [session] = current(cookies, [scriptCookie]);
      return session && { salt, proof: mac(session.keyHash, `server ${salt} ${nonce}`) };
    },
    end({ id }) {
      sessions.delete(id);
      save();
    },
  };
}

function* secretsOf(cookies: string | undefined, prefixes: readonly string[]): Generator<string> {
  for (const cookie of cookies?.split(";") ?? []) {
    const [name = "", secret = ""] = cookie.trim().split("=", 2);
    if (prefixes.some((prefix) => name.startsWith(prefix))) yield secret;
  }
}

/** Adds an entry. Beyond 64 the oldest is dropped. */
function keep<Value>(map: Map<string, Value>, id: string, value: Value): void {
  map.set(id, value);
  const [oldest] = map.keys();
  if (map.size > maxKept && oldest !== undefined) map.delete(oldest);
}

function randomText(): string {
  return randomBytes(32).toString("base64url");
}

function mac(keyHash: string, text: string): string {
  return createHmac("sha256", keyHash).update(text).digest("base64");
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
