import type { IncomingHttpHeaders } from "node:http";

/** What a POST says before its body. */
export interface PostHead {
  /** As it came, without the empty line at its end. */
  readonly text: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyBytes: number;
}

/** Without tabs, which Node takes before a length and not behind it. */
const form = /^POST (\/[!-~]*) HTTP\/1\.1((?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ -~]*)+)$/;

/** Node leaves out those past a thousand, without a word. */
const mostHeaders = 100;

/** What decides how a message is framed, what follows it or that something comes in between; and what Node hands on in another shape. */
const otherwise = [
  "transfer-encoding",
  "expect",
  "upgrade",
  "proxy-connection",
  "trailer",
  "set-cookie",
  // An object of Node's has no room for it.
  "__proto__",
];

/**
 * Reads the head of a POST that is as most are: its length is told, in one way, and no header comes twice. Everything else is
 * undefined, right or wrong: Node's own parser is asked about it.
 */
export function readPostHead(text: string): PostHead | undefined {
  const [, path, lines] = form.exec(text) ?? [];
  if (path === undefined || lines === undefined) return undefined;
  const fields = lines.slice(2).split("\r\n");
  if (fields.length > mostHeaders) return undefined;
  const headers: IncomingHttpHeaders = Object.create(null);
  for (const field of fields) {
    const colon = field.indexOf(":");
    const name = field.slice(0, colon).toLowerCase();
    if (name in headers) return undefined;
    headers[name] = field.slice(colon + 1).trim();
  }
  const { host, connection = "keep-alive", "content-length": length = "" } = headers;
  const isPlain = host !== undefined && connection.toLowerCase() === "keep-alive" && /^\d{1,9}$/.test(length);
  if (!isPlain || otherwise.some((name) => name in headers)) return undefined;
  return { text, path, headers: Object.freeze(headers), bodyBytes: Number(length) };
}
