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
  /** Whether it is for a path that needs no token. Default false. */
  readonly isPublic?: boolean;
  /** Whether it has more than one Host header. Default false. */
  readonly hasSeveralHosts?: boolean;
}

/** `origin` is set if CORS headers must let a page of that origin read the response. */
export type Verdict =
  | { readonly outcome: "pass"; readonly origin?: string }
  | { readonly outcome: "preflight"; readonly origin: string }
  | { readonly outcome: "refuse"; readonly status: RpcStatus; readonly origin?: string };

/** Judges a request before anything else sees it. */
export type Guard = (request: GuardedRequest) => Verdict;

/**
 * How a request without a token is admitted: by something else that it carries, such as a cookie, or because its path is public. A
 * public path can be opened by a link on another site. `refused` is the reason why what it carries is not enough. Undefined: it needs a token.
 */
export type Admission = "authenticated" | "public" | { readonly refused: string } | undefined;

export interface GuardOptions {
  /** Whether only this machine can reach the listener. */
  readonly isLocal: boolean;
  /** Host names to accept, in addition to those of the loopback interface. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call, in addition to the listener's own. */
  readonly allowedOrigins: readonly string[];
  readonly checkToken: TokenCheck | undefined;
  /** Decides about requests without a token. Default: all need one. */
  readonly admit?: ((request: GuardedRequest) => Admission) | undefined;
}

const pass: Verdict = { outcome: "pass" };

const maxCachedVerdicts = 100;

/**
 * The access guard, mounted once for everything on a listener.
 *
 * A browser brings every page to the loopback, so a request that may come from one is held against its Host (a name that
 * was rebound to this machine is not ours) and its Origin (a page of another site is not welcome). Every HTTP/1.1
 * request may; over HTTP/2 a browser gives itself away by Origin or Sec-Fetch headers, and gRPC clients call the
 * authority what they like.
 */
export function createGuard(options: GuardOptions): Guard {
  const hosts = new Set(options.allowedHosts.map(parseAllowedHost));
  const origins = new Set(options.allowedOrigins.map(parseAllowedOrigin));

  // The same few names come with every request, and to look at an address costs more than the rest of the guard.
  const judged = new Map<string, boolean>();
  const isOurHost = (authority: string): boolean => {
    const known = judged.get(authority);
    if (known !== undefined) return known;
    if (judged.size >= maxCachedVerdicts) judged.clear();
    const verdict = judgeHost(authority);
    judged.set(authority, verdict);
    return verdict;
  };
  /** A request without either is refused like one with a foreign name. */
  const isOurs = (authority: string | undefined, host: string | undefined): boolean => {
    if (authority === undefined) return isOurHost(host ?? "");
    return isOurHost(authority) && (host === undefined || isOurHost(host));
  };
  const judgeHost = (authority: string): boolean => {
    const host = hostNameOf(authority);
    if (host === undefined) return false;
    if (host === "localhost" || host.endsWith(".localhost") || hosts.has(host)) return true;
    // An address cannot be rebound. On a listener for this machine only, though, no other address makes sense.
    return isIP(host) !== 0 && (!options.isLocal || isLoopbackAddress(host));
  };

  /** Whether a person follows a link on another site to a public page. */
  const isLinkToPage = (request: GuardedRequest): boolean => {
    const { method, headers } = request;
    const isLink = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
    return method === "GET" && isLink && options.admit?.(request) === "public";
  };

  return (request) => {
    const { headers } = request;
    // Another HTTP implementation on the way may have decided by the other one (RFC 9112, section 3.2).
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
          "This listener does not go by the name in the Host header. Use its address, or add the name to allowedHosts.",
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
        // Pages of other origins have to send the token: what browsers send by themselves counts for our own only.
        const admission = allowedOrigin === undefined ? options.admit?.(request) : undefined;
        if (admission === "authenticated" || admission === "public") return pass;
        if (admission !== undefined) return refuse(grpcCode.permissionDenied, admission.refused);
        return refuse(
          grpcCode.unauthenticated,
          "A token is needed. Send the header authorization: Bearer <token>.",
          allowedOrigin,
        );
      }
      if (!options.checkToken(presented)) {
        return refuse(
          grpcCode.unauthenticated,
          "The token is not the one of this listener. It may have been replaced.",
          allowedOrigin,
        );
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
  if (name === undefined) throw new TypeError(`allowedHosts has "${host}", which is no host name.`);
  return name;
}

function parseAllowedOrigin(origin: string): string {
  if (parseUrl(origin)?.origin !== origin) {
    throw new TypeError(
      `allowedOrigins has "${origin}", which is no origin. Write it like https://tools.example:8443, without a path.`,
    );
  }
  return origin;
}
