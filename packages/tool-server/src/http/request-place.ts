import type { HttpRequest } from "./http-client.js";
import { assertSendable, unsendable } from "./sendable-request.js";

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
