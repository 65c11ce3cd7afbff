import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Lets in who reads the terminal: a word that stands in the links that are printed there, and nowhere else. */
export interface Ticket {
  /** The link to a path, with what it asks for. */
  linkTo(base: string, path: string, query?: Readonly<Record<string, string>>): string;
  /** Whether a request comes by such a link. */
  admits(query: URLSearchParams): boolean;
}

// In the url and not in a cookie: those go to every port of this machine, whoever listens there.
export function createTicket(): Ticket {
  const ticket = randomBytes(24).toString("base64url");
  return {
    linkTo: (base, path, query = {}) => `${base}${path}?${new URLSearchParams({ ...query, ticket })}`,
    admits: (query) => isSame(query.get("ticket") ?? "", ticket),
  };
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
