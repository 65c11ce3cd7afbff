import { createHash } from "node:crypto";
import { TLSSocket } from "node:tls";
import type { Requester } from "../callers/accounts.js";
import type { EndpointRequest } from "../endpoint/http-request.js";

const maxCached = 256;

export interface RequesterOptions {
  /** Whether clients must send a token. */
  readonly hasToken: boolean;
  /** The session of a browser that sends a request. Default: none. */
  readonly browserOf?: (request: EndpointRequest) => string | undefined;
  /** Called for each request that a proxy forwarded. */
  readonly onForwarded?: () => void;
}

/**
 * Identifies the sender of a request that the guard has accepted. The principal, which owns sessions, is derived from the Authorization
 * header or the browser's session, the client certificate, and whether a proxy forwarded the request: otherwise a remote client could
 * continue a session that was started on this machine. Requests are counted by the certificate, else by the token if one is required, else
 * by the peer's address: without a token check a client could send any token.
 */
export function createRequesters({
  hasToken,
  browserOf,
  onForwarded,
}: RequesterOptions): (request: EndpointRequest) => Requester {
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
    const browser = headers.authorization === undefined ? browserOf?.(request) : undefined;
    // No header contains a line feed, so the kinds of keys cannot collide.
    const authorization = browser === undefined ? (headers.authorization ?? "") : `\n\n${browser}`;
    const fingerprint = socket instanceof TLSSocket ? fingerprintOf(request, socket) : undefined;
    const isForwarded = wasForwarded(request);
    if (isForwarded) onForwarded?.();
    const way = isForwarded ? "forwarded\n" : "";
    const credentials = fingerprint === undefined ? `${way}${authorization}` : `${way}${fingerprint}\n${authorization}`;
    let principal = principals.get(credentials);
    if (principal === undefined) {
      if (principals.size >= maxCached) principals.clear();
      principal = createHash("sha256").update(credentials).digest("base64url");
      principals.set(credentials, principal);
    }
    return { principal, rateKey: fingerprint || (hasToken ? "token" : addressOf(request)), isForwarded };
  };
}

const proxyHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/** By the headers of proxies. Before 1.29.7, nginx added none by default, but sent HTTP/1.0, which no MCP client does. */
function wasForwarded({ headers, httpVersion }: EndpointRequest): boolean {
  return httpVersion === "1.0" || proxyHeaders.some((name) => headers[name] !== undefined);
}

function addressOf(request: EndpointRequest): string {
  // The socket of a closed session throws.
  if ("stream" in request && request.stream.session?.destroyed !== false) return "gone";
  return request.socket.remoteAddress ?? "unix";
}
