import { createHash } from "node:crypto";
import { TLSSocket } from "node:tls";
import type { HttpRequest } from "./http-exchange.js";

const mostKept = 256;

/**
 * Whose request one is: told apart by the token, and by the certificate where there is one. The guard has let it in already;
 * this says only whose sessions it may use. The certificate is the one that the connection began with.
 */
export function createPrincipals(): (request: HttpRequest) => string {
  const kept = new Map<string, string>();
  // To read a certificate takes half as long as a call does.
  const fingerprints = new WeakMap<object, string>();

  const fingerprintOf = (request: HttpRequest, socket: TLSSocket): string => {
    // Over HTTP/2 the socket of a request is one of its own, which stands for that of the connection.
    const connection = ("stream" in request ? request.stream.session : undefined) ?? socket;
    const known = fingerprints.get(connection);
    if (known !== undefined) return known;
    const fingerprint = socket.getPeerCertificate()?.fingerprint256 ?? "";
    fingerprints.set(connection, fingerprint);
    return fingerprint;
  };

  return (request) => {
    const {
      headers: { authorization = "" },
      socket,
    } = request;
    // No header has a line feed, so that the two kinds of keys differ.
    const credentials =
      socket instanceof TLSSocket ? `${fingerprintOf(request, socket)}\n${authorization}` : authorization;
    const known = kept.get(credentials);
    if (known !== undefined) return known;
    if (kept.size >= mostKept) kept.clear();
    const principal = createHash("sha256").update(credentials).digest("base64url");
    kept.set(credentials, principal);
    return principal;
  };
}
