import { isHeaderName, isHeaderValue } from "../config/headers.js";
import type { HttpRequest } from "./http-client.js";

/** Where a request is sent: the checked parts of its URL. */
export interface RequestTarget {
  readonly origin: string;
  /** The host name, without the port. */
  readonly host: string;
  /** Including the query. */
  readonly path: string;
}

interface Known extends RequestTarget {
  readonly href: string;
  readonly headers: HttpRequest["headers"];
}

/**
 * Returns a function that prepares requests. It caches the last one, because nearly all requests use one URL and one headers
 * object: reading the parts of a URL creates new strings, and the headers would be checked again. It throws as `assertSendable` does.
 */
export function createRequestPreparer(): (request: Pick<HttpRequest, "url" | "headers">) => RequestTarget {
  let last: Known | undefined;
  return ({ url, headers }) => {
    const { href } = url;
    if (last?.headers === headers && last.href === href) return last;
    const { origin, host, hostname, pathname, search } = url;
    // All URLs with an unknown scheme have the origin "null", so different hosts would share sockets.
    if (origin === "null") throw unsendable("its URL is not an http or https URL");
    const path = `${pathname}${search}`;
    assertSendable(headers, host, path);
    last = { href, headers, origin, host: hostname, path };
    return last;
  };
}

/** Headers that describe the framing of a request, which only the code that writes it knows. */
const ownHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** An http or https `URL` has no other characters here, but the request line must not rely on that. */
const [sendablePath, sendableHost] = [/^\/[\x21-\x7e]*$/, /^[\x21-\x7e]+$/];

/** Throws a TypeError, which quotes no value, if a header cannot be sent or the URL is not an HTTP URL. */
export function assertSendable(headers: HttpRequest["headers"], host: string, path: string): void {
  if (!sendablePath.test(path) || !sendableHost.test(host)) throw unsendable("its URL is not an http or https URL");
  for (const name of Object.keys(headers)) {
    if (!isHeaderName(name)) throw unsendable("a header name contains an invalid character");
    if (ownHeaders.has(name.toLowerCase())) throw unsendable(`the header ${name} is set by the connection itself`);
    if (!isHeaderValue(headers[name] ?? "")) throw unsendable(`the header ${name} contains an invalid character`);
  }
}

/** The reason is a clause that quotes no value. */
function unsendable(why: string): TypeError {
  return new TypeError(`The request cannot be sent: ${why}.`);
}
