import { createHash } from "node:crypto";
import { TLSSocket } from "node:tls";
import type { Requester } from "../callers/accounts.js";
import type { EndpointRequest } from "../endpoint/http-request.js";

const maxCached = 256;

/**
 * Identifies the sender of a request that the guard has accepted. The principal, which owns sessions, is derived from the Authorization
 * header or the browser's session (`browserOf`), and the client certificate. Requests are counted by the certificate, else by the token if
 * one is required (`hasToken`), else by the peer's address: without a token check a client could send any token.
 */
export function createRequesters(
  hasToken: boolean,
  browserOf: (request: EndpointRequest) => string | undefined = () => undefined,
): (request: EndpointRequest) => Requester {
  const principals = new Map<string, string>();
  // Reading a certificate takes half as long as a call.
  const fingerprints = new WeakMap<object, string>();

  const fingerprintOf = (request: EndpointRequest, socket: TLSSocket): string => {
    // Over HTTP/2 each request has its own proxy of the socket, so the session is the key.
    const connection = ("stream" in request ? request.stream.session : undefined) ?? socket;
    const known = fingerprints.get(connection);
    if (known !== undefined) return known;
    const fingerprint = socket.getPeerCertificate()?.fingerprint256 ?? "";
    fingerprints.set(connection, fingerprint);
    return fingerprint;
  };

  return (request) => {
    const { headers, socket } = request;
    const browser = headers.authorization === undefined ? browserOf(request) : undefined;
    // No header contains a line feed, so the kinds of keys cannot collide.
    const authorization = browser === undefined ? (headers.authorization ?? "") : `\n\n${browser}`;
    const fingerprint = socket instanceof TLSSocket ? fingerprintOf(request, socket) : undefined;
    const credentials = fingerprint === undefined ? authorization : `${fingerprint}\n${authorization}`;
    let principal = principals.get(credentials);
    if (principal === undefined) {
      if (principals.size >= maxCached) principals.clear();
      principal = createHash("sha256").update(credentials).digest("base64url");
      principals.set(credentials, principal);
    }
    return { principal, rateKey: fingerprint || (hasToken ? "token" : addressOf(request)) };
  };
}

function addressOf(request: EndpointRequest): string {
  // The socket of a closed session throws.
  if ("stream" in request && request.stream.session?.destroyed !== false) return "gone";
  return request.socket.remoteAddress ?? "unix";
}
