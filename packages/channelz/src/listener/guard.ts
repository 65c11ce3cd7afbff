import type { IncomingHttpHeaders } from "node:http2";
import { isIP } from "node:net";
import type { Code } from "@connectrpc/connect";
import { grpcCode } from "../service/grpc-code.js";
import type { RpcStatus } from "../service/rpc-status.js";
import { parseUrl } from "../url.js";
import { hostNameOf, isLoopbackAddress } from "./host-name.js";
import type { TokenCheck } from "./token.js";

/** The parts of a request that the guard checks. */
export interface GuardedRequest {
  readonly httpVersion: 1 | 2;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly isEncrypted: boolean;
  /** Whether its path requires no token. Default false. */
  readonly isPublic?: boolean;
  /** Whether it has more than one Host header. Default false. */
  readonly hasSeveralHosts?: boolean;
}

/** `origin` is set if CORS headers must let a page of that origin read the response. */
export type Verdict =
  | { readonly outcome: "pass"; readonly origin?: string }
  | { readonly outcome: "preflight"; readonly origin: string }
  | { readonly outcome: "refuse"; readonly status: RpcStatus; readonly origin?: string };

/** Checks a request before anything else handles it. */
export type Guard = (request: GuardedRequest) => Verdict;

/**
 * Whether a request without a token is admitted: because it is authenticated in another way, such as a cookie, or because its path
 * is public. A public path can be opened by a link on another site. `refused` is the reason of a rejection. Otherwise a token is required;
 * `advice` replaces the advice to send one.
 */
export type Admission =
  | "authenticated"
  | "public"
  | { readonly refused: string }
  | { readonly advice: string }
  | undefined;

export interface GuardOptions {
  /** Whether only this machine can reach the listener. */
  readonly isLocal: boolean;
  /** Host names to accept, in addition to those of the loopback interface. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call, in addition to the listener's own. */
  readonly allowedOrigins: readonly string[];
  readonly checkToken: TokenCheck | undefined;
  /** Decides about requests without a token. Default: a token is required. */
  readonly admit?: ((request: GuardedRequest) => Admission) | undefined;
}

const pass: Verdict = { outcome: "pass" };

const maxKnownHosts = 100;

/**
 * The access guard for all requests of a listener.
 *
 * A browser lets any page send requests to loopback addresses, so the guard checks the Host (against DNS rebinding) and the Origin
 * (against other sites) of every request that may come from a browser. That is every HTTP/1.1 request, and an HTTP/2 request with
 * an Origin or Sec-Fetch header; gRPC clients may set any authority.
 */
export function createGuard(options: GuardOptions): Guard {
  const hosts = new Set(options.allowedHosts.map(parseAllowedHost));
  const origins = new Set(options.allowedOrigins.map(parseAllowedOrigin));

  // Cached, because checking an address costs more than the rest of the guard, and clients use few names.
  const knownHosts = new Map<string, boolean>();
  const isOurHost = (authority: string): boolean => {
    const known = knownHosts.get(authority);
    if (known !== undefined) return known;
    if (knownHosts.size >= maxKnownHosts) knownHosts.clear();
    const isAllowed = checkHost(authority);
    knownHosts.set(authority, isAllowed);
    return isAllowed;
  };
  /** False without both. */
  const isOurs = (authority: string | undefined, host: string | undefined): boolean => {
    if (authority === undefined) return isOurHost(host ?? "");
    return isOurHost(authority) && (host === undefined || isOurHost(host));
  };
  const checkHost = (authority: string): boolean => {
    const host = hostNameOf(authority);
    if (host === undefined) return false;
    if (host === "localhost" || host.endsWith(".localhost") || hosts.has(host)) return true;
    // DNS rebinding does not work with an address. On a local listener, only loopback addresses make sense.
    return isIP(host) !== 0 && (!options.isLocal || isLoopbackAddress(host));
  };

  /** Whether a user follows a link on another site to a public page. */
  const isLinkToPage = (request: GuardedRequest): boolean => {
    const { method, headers } = request;
    const isLink = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
    return method === "GET" && isLink && options.admit?.(request) === "public";
  };

  return (request) => {
    const { headers } = request;
    // A proxy may have decided by the other one (RFC 9112, section 3.2).
    if (request.hasSeveralHosts === true) {
      return refuse(grpcCode.invalidArgument, "The request has more than one Host header. Send exactly one.");
    }
    const origin = headers.origin;
    const site = headers["sec-fetch-site"];
    const isBrowser =
      origin !== undefined ||
      site !== undefined ||
      headers["sec-fetch-mode"] !== undefined ||
      headers["sec-fetch-dest"] !== undefined;
    let allowedOrigin: string | undefined;
    if (isBrowser || request.httpVersion === 1) {
      if (!isOurs(headers[":authority"], headers.host)) {
        return refuse(
          grpcCode.permissionDenied,
          "The name in the Host header is not allowed. Use the address of the listener, or add the name to allowedHosts.",
        );
      }
      if (origin !== undefined && origins.has(origin)) allowedOrigin = origin;
      else if (
        origin !== undefined
          ? !isSameOrigin(origin, request)
          : site !== undefined && site !== "same-origin" && site !== "none" && !isLinkToPage(request)
      ) {
        return refuse(
          grpcCode.permissionDenied,
          "Pages of this origin may not call this listener. Add the origin to allowedOrigins.",
        );
      }
      if (
        request.method === "OPTIONS" &&
        allowedOrigin !== undefined &&
        headers["access-control-request-method"] !== undefined
      ) {
        return { outcome: "preflight", origin: allowedOrigin };
      }
    }
    if (options.checkToken !== undefined && request.isPublic !== true) {
      const presented = bearerTokenOf(headers.authorization);
      if (presented === undefined) {
        // Pages of other origins must send the token: credentials that browsers send by themselves count only for our own pages.
        const admission = allowedOrigin === undefined ? options.admit?.(request) : undefined;
        if (admission === "authenticated" || admission === "public") return pass;
        if (admission !== undefined && "refused" in admission) {
          return refuse(grpcCode.permissionDenied, admission.refused);
        }
        const advice = admission?.advice ?? "Send the header authorization: Bearer <token>.";
        return refuse(grpcCode.unauthenticated, `A token is required. ${advice}`, allowedOrigin);
      }
      if (!options.checkToken(presented)) {
        return refuse(grpcCode.unauthenticated, "The token is wrong. It may have been replaced.", allowedOrigin);
      }
    }
    return allowedOrigin === undefined ? pass : { outcome: "pass", origin: allowedOrigin };
  };
}

function refuse(code: Code, message: string, origin?: string): Verdict {
  return { outcome: "refuse", status: { code, message }, ...(origin !== undefined && { origin }) };
}

function isSameOrigin(origin: string, request: GuardedRequest): boolean {
  const scheme = request.isEncrypted ? "https" : "http";
  const authority = request.headers[":authority"] ?? request.headers.host;
  return parseUrl(`${scheme}://${authority}`)?.origin === origin;
}

function bearerTokenOf(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1];
}

function parseAllowedHost(host: string): string {
  const name = hostNameOf(host.includes(":") && isIP(host) ? `[${host}]` : host);
  if (name === undefined) throw new TypeError(`allowedHosts contains "${host}", which is not a host name.`);
  return name;
}

function parseAllowedOrigin(origin: string): string {
  if (parseUrl(origin)?.origin !== origin) {
    throw new TypeError(
      `allowedOrigins contains "${origin}", which is not an origin. Write it like https://tools.example:8443, without a path.`,
    );
  }
  return origin;
}
