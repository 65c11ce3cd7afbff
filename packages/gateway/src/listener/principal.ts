import { createHash } from "node:crypto";
import { TLSSocket } from "node:tls";
import type { Requester } from "../callers/accounts.js";
import type { HttpRequest } from "../endpoint/http-exchange.js";

const mostKept = 256;

/**
 * Identifies who sends a request that the guard has let in. The principal, which owns sessions, is the Authorization header and the
 * certificate that the connection began with. Requests are counted by the certificate, else by the token if one is required
 * (`hasToken`), else by the address of the peer: without a check of the token a client could send any.
 */
export function createRequesters(hasToken: boolean): (request: HttpRequest) => Requester {
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
    const fingerprint = socket instanceof TLSSocket ? fingerprintOf(request, socket) : undefined;
    const credentials = fingerprint === undefined ? authorization : `${fingerprint}\n${authorization}`;
    let principal = kept.get(credentials);
    if (principal === undefined) {
      if (kept.size >= mostKept) kept.clear();
      principal = createHash("sha256").update(credentials).digest("base64url");
      kept.set(credentials, principal);
    }
    return { principal, rateKey: fingerprint || (hasToken ? "token" : addressOf(request)) };
  };
}

function addressOf(request: HttpRequest): string {
  // The socket of a session that has ended throws.
  if ("stream" in request && request.stream.session?.destroyed !== false) return "gone";
  return request.socket.remoteAddress ?? "unix";
}
