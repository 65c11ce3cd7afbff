import { isHeaderName, isHeaderValue } from "../config/headers/header-rules.js";
import type { HttpRequest } from "./http-client.js";

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
export function unsendable(why: string): TypeError {
  return new TypeError(`The request cannot be sent: ${why}.`);
}
