import { isHeaderName, isHeaderValue } from "../config/headers/header-rules.js";
import type { HttpRequest } from "./http-client.js";

/** Where a request goes. */
export interface RequestPlace {
  readonly origin: string;
  /** The name of the host, without the port. */
  readonly host: string;
  /** With the query. */
  readonly path: string;
}

interface Known extends RequestPlace {
  readonly href: string;
  readonly headers: HttpRequest["headers"];
}

/**
 * Remembers the place of the last request, because nearly all go to one url with one object of headers: the parts of a url are new
 * strings each time they are read, and headers are checked again. Throws as `assertSendable` does.
 */
export function createPlaces(): (request: Pick<HttpRequest, "url" | "headers">) => RequestPlace {
  let last: Known | undefined;
  return ({ url, headers }) => {
    const { href } = url;
    if (last?.headers === headers && last.href === href) return last;
    const { origin, host, hostname, pathname, search } = url;
    // All urls of an unknown scheme have this one, and their hosts would share sockets.
    if (origin === "null") throw unsendable("its url is none of http or https");
    const path = `${pathname}${search}`;
    assertSendable(headers, host, path);
    last = { href, headers, origin, host: hostname, path };
    return last;
  };
}

/** Headers that say how the bytes of a request are to be read, which only the code that writes them knows. */
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

/** A `URL` of http or https has no other characters here, but the first line of a request must not rely on that. */
const [sendablePath, sendableHost] = [/^\/[\x21-\x7e]*$/, /^[\x21-\x7e]+$/];

/** Throws a TypeError, which quotes no value, if a header cannot be sent, or the url is not one of HTTP. */
export function assertSendable(headers: HttpRequest["headers"], host: string, path: string): void {
  if (!sendablePath.test(path) || !sendableHost.test(host)) throw unsendable("its url is none of http or https");
  for (const name of Object.keys(headers)) {
    if (!isHeaderName(name)) throw unsendable("the name of a header has a character that none can have");
    if (ownHeaders.has(name.toLowerCase())) throw unsendable(`the header ${name} is set by the connection itself`);
    if (!isHeaderValue(headers[name] ?? "")) throw unsendable(`the header ${name} has a character that none can have`);
  }
}

/** Says that a request cannot be sent, for this reason: a clause that quotes no value. */
function unsendable(why: string): TypeError {
  return new TypeError(`The request cannot be sent: ${why}.`);
}
