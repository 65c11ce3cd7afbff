import { isHeaderName, isHeaderValue } from "../headers/header-rules.js";
import type { HttpRequest } from "./http-client.js";

/** Headers that say how the bytes of a request are to be read, which only the one who writes them knows. */
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

/** What can stand in the first lines: a `URL` of http or https gives nothing else, but they are no place to rely on that. */
const [sendablePath, sendableHost] = [/^\/[\x21-\x7e]*$/, /^[\x21-\x7e]+$/];

/** The head of a request, as it is written. */
export interface RequestHead {
  /** All but the length of the body, and the empty line. */
  readonly text: string;
  /** Whether there are characters in it beyond ASCII. */
  readonly needsLatin1: boolean;
  /** Whether the length is told where there is no body. */
  readonly tellsLength: boolean;
}

/**
 * Builds the head of a request. Throws a TypeError, which quotes no value, where a header cannot be sent, or the url is none of HTTP.
 */
export function requestHead(
  { method, headers }: Pick<HttpRequest, "method" | "headers">,
  host: string,
  path: string,
): RequestHead {
  if (!sendablePath.test(path) || !sendableHost.test(host)) throw unsendable("its url is none of http or https");
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const name of Object.keys(headers)) {
    const value = headers[name] ?? "";
    if (!isHeaderName(name)) throw unsendable("the name of a header has a character that none can have");
    if (ownHeaders.has(name.toLowerCase())) throw unsendable(`the header ${name} is set by the connection itself`);
    if (!isHeaderValue(value)) throw unsendable(`the header ${name} has a character that none can have`);
    text += `${name}: ${value}\r\n`;
  }
  return { text, needsLatin1: /[\x80-\xff]/.test(text), tellsLength: method === "POST" };
}

/** That a request cannot be sent, for this reason: a clause that quotes no value. */
export function unsendable(why: string): TypeError {
  return new TypeError(`The request cannot be sent: ${why}.`);
}
