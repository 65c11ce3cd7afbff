import type { HttpRequest } from "./http-client.js";
import { type RequestHead, requestHead, unsendable } from "./request-head.js";

/** Where a request goes, and the head that it is written with. */
export interface RequestPlace {
  readonly origin: string;
  /** The name of the host, without the port. */
  readonly host: string;
  readonly head: RequestHead;
}

interface Known extends RequestPlace {
  readonly href: string;
  readonly method: HttpRequest["method"];
  readonly headers: HttpRequest["headers"];
}

/**
 * Remembers the place of the last request, for nearly all go to one url with one object of headers: the parts of a url are new texts
 * each time that they are read, and a head is judged and put together anew. Throws as `requestHead` does.
 */
export function createPlaces(): (request: HttpRequest) => RequestPlace {
  let last: Known | undefined;
  return ({ url, method, headers }) => {
    const { href } = url;
    if (last?.headers === headers && last.method === method && last.href === href) return last;
    const { origin, host, hostname, pathname, search } = url;
    // All urls of a scheme that is not known have this one, and their hosts would share sockets.
    if (origin === "null") throw unsendable("its url is none of http or https");
    const head = requestHead({ method, headers }, host, `${pathname}${search}`);
    last = { href, method, headers, origin, host: hostname, head };
    return last;
  };
}
