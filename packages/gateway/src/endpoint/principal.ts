import { createHash } from "node:crypto";
import { TLSSocket } from "node:tls";
import type { HttpRequest } from "./event-streams.js";

const mostKept = 256;

/**
 * Whose request one is: told apart by the token, and by the certificate where there is one. The guard has let it in already;
 * this says only whose sessions it may use.
 */
export function createPrincipals(): (request: HttpRequest) => string {
  const kept = new Map<string, string>();
  return ({ headers: { authorization = "" }, socket }) => {
    // No header has a line feed, so that the two kinds of keys differ.
    const credentials =
      socket instanceof TLSSocket
        ? `${socket.getPeerCertificate()?.fingerprint256 ?? ""}\n${authorization}`
        : authorization;
    const known = kept.get(credentials);
    if (known !== undefined) return known;
    if (kept.size >= mostKept) kept.clear();
    const principal = createHash("sha256").update(credentials).digest("base64url");
    kept.set(credentials, principal);
    return principal;
  };
}
