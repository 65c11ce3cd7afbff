import fc from "fast-check";

/** What a caller sends on one connection, and how. */
export interface Sent {
  /** Requests that are right, each of which is answered before the connection goes on. */
  readonly right: readonly Buffer[];
  /** A request that may be anything. */
  readonly last: Buffer;
  /** Where they are cut, as parts of the whole. */
  readonly cuts: readonly number[];
  /** Whether each waits for the answer before it. */
  readonly isPatient: boolean;
  /** Whether the caller says at once that it sends no more. */
  readonly ends: boolean;
}

const how = fc.constantFrom("", "x-how: now\r\n", "x-how: soon\r\n", "x-how: later\r\n", "x-how: parts\r\n");
const text = fc.oneof(
  fc.string({ unit: "binary-ascii", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom(
    "",
    "{}",
    "é",
    "\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n",
    "\ud800",
  ),
);
const body = fc.oneof(
  { weight: 8, arbitrary: text.map((chars) => Buffer.from(chars)) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 66_000 }).map((length) => Buffer.alloc(length, "b\n")) },
);

/** A request that is answered by itself, whatever comes then. */
const rightRequest = fc
  .record({ how, body, request: fc.constantFrom("POST /mcp", "POST /mcp", "POST /mcp", "POST /mcp?a=1", "PUT /mcp") })
  .map(({ how: how_, body: body_, request }) =>
    Buffer.concat([
      Buffer.from(`${request} HTTP/1.1\r\nHost: localhost\r\n${how_}Content-Length: ${body_.length}\r\n\r\n`),
      body_,
    ]),
  );

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const otherHeader = fc.oneof(
  fc.constantFrom(
    "Connection: keep-alive",
    "connection:Keep-Alive ",
    "Connection: close",
    "Connection: Keep-Alive, x",
    "Connection: upgrade",
    "Connection:",
    "Connection: close\r\nConnection: keep-alive",
    "Proxy-Connection: close",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: identity",
    "Transfer-Encoding : chunked",
    "transfer-encoding:\tchunked",
    "Expect: 100-continue",
    "Expect: more",
    "Upgrade: h2c",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "TE: trailers",
    "Trailer: x",
    "Content-Length: 3",
    "Host: evil.example",
    "Origin: http://evil.example",
    "Origin: null",
    "Sec-Fetch-Site: cross-site",
    "Authorization: Bearer x",
    "Set-Cookie: a=1",
    "Cookie: a=1\r\nCookie: b=2",
    "Cookie: a=1",
    "X-A: 1\r\nx-a: 2",
    "__proto__: x",
    "constructor: x",
    "toString: x",
    "content-type: application/json",
    "X-Tab:\ta\tb\t",
    "X-Space:   a  b   ",
    "X-Empty:",
    "X-Empty: \t ",
    "X-Fold: a\r\n b",
    "X-Fold: a\r\n\tb",
    "X Space: a",
    "X-Colon:: a:b",
    ": nameless",
    "nameless",
    " leading: space",
    "X-Nul: a\0b",
    "X-High: a\xe9b",
    "X-High\xe9: ab",
    "X-Del: a\x7fb",
    "X-Cr: a\rb",
    "X-Lf: a\nb",
    "x-how: later",
    "x-how: parts",
    "x-how: last",
    `x-long: ${"l".repeat(17_000)}`,
    Array.from({ length: 120 }, (_, i) => `x-${i}: ${i}`).join("\r\n"),
  ),
  fc
    .tuple(fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,6}$/), fc.stringMatching(/^[\t -~]{0,8}$/))
    .map(([name, value]) => `${name}:${value}`),
);

const lengthForms: readonly ((bytes: number) => string)[] = [
  (bytes) => `content-length:${bytes}`,
  (bytes) => `CONTENT-LENGTH: ${bytes} `,
  (bytes) => `Content-Length: +${bytes}`,
  (bytes) => `Content-Length: -${bytes}`,
  (bytes) => `Content-Length: 0${bytes}`,
  (bytes) => `Content-Length: 0x${bytes}`,
  (bytes) => `Content-Length: ${bytes}.0`,
  (bytes) => `Content-Length: ${bytes},${bytes}`,
  (bytes) => `Content-Length: ${bytes} ${bytes}`,
  (bytes) => `Content-Length:\t${bytes}`,
  (bytes) => `Content-Length: ${bytes}\t`,
  (bytes) => `Content-Length: ${bytes}\r\n `,
  (bytes) => `Content-Length : ${bytes}`,
  (bytes) => `Content-Length: ${bytes}\r\nContent-Length: ${bytes}`,
  (bytes) => `Content-Length: ${"0".repeat(8)}${bytes}`,
  (bytes) => `Content-Length: ${bytes + 1}`,
  (bytes) => `Content-Length: ${Math.max(0, bytes - 1)}`,
  () => "Content-Length: 4294967297",
  () => "Content-Length: 18446744073709551617",
  () => "Content-Length: 999999999999999999999999",
  () => "Content-Length: ",
  () => "X: no length",
];
const length = mostly((bytes: number): string => `Content-Length: ${bytes}`, ...lengthForms);

const anyRequest = fc
  .record({
    lead: mostly("", "\r\n", "\n", " ", "\0", "x", "PRI "),
    method: mostly("POST", "post", "GET", "PUT", "POST\t", "POSTS", "P", "OPTIONS", "CONNECT", "PRI"),
    target: mostly(
      "/mcp",
      "/mcp?a",
      "/mcp#a",
      "/mcp/",
      "//mcp",
      "/other",
      "http://localhost/mcp",
      "*",
      "",
      "mcp",
      "/mcp /mcp",
      "/%6dcp",
      "/mcp\xe9",
      "/mcp\0",
      "/mcp\t",
    ),
    version: mostly(
      "HTTP/1.1",
      "HTTP/1.0",
      "HTTP/1.2",
      "HTTP/2.0",
      "http/1.1",
      "HTTP/1.1 ",
      "HTTP/11",
      "HTTPS/1.1",
      "",
    ),
    host: mostly("Host: localhost", "host:localhost:80", "Host: evil.example", "Host:", "HOST: [::1]", "X: no host"),
    length,
    others: fc.oneof(fc.constant<string[]>([]), fc.array(otherHeader, { maxLength: 3 })),
    lineEnd: mostly("\r\n", "\n", "\r", "\r\r\n", "\r\n\0"),
    headEnd: mostly("\r\n\r\n", "\n\n", "\r\n\n", "\r\n", "\r\n\r\n\r\n", "\r\n \r\n"),
    isChunked: mostly(false, true),
    body,
  })
  .map((parts) => {
    const headers = [parts.host, parts.length(parts.body.length), ...parts.others].join(parts.lineEnd);
    const head = `${parts.lead}${parts.method} ${parts.target} ${parts.version}${parts.lineEnd}${headers}${parts.headEnd}`;
    const chunks = [`${parts.body.length.toString(16)}\r\n`, parts.body, "\r\n0\r\n\r\n"].map((part) =>
      Buffer.from(part),
    );
    return Buffer.concat([Buffer.from(head, "latin1"), ...(parts.isChunked ? chunks : [parts.body])]);
  });

const part = fc.integer({ min: 0, max: 4999 }).map((of) => of / 5000);

interface Mutation {
  readonly at: number;
  readonly remove: number;
  readonly insert: Buffer;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: part,
  remove: fc.integer({ min: 0, max: 3 }),
  insert: fc
    .constantFrom(
      "",
      "\r",
      "\n",
      "\r\n",
      ":",
      " ",
      "\t",
      "\0",
      "\x80",
      "\xff",
      "0",
      "9",
      ",",
      "H",
      "POST /mcp HTTP/1.1\r\n",
    )
    .map((chars) => Buffer.from(chars, "latin1")),
});

function mutate(bytes: Buffer, { at, remove, insert }: Mutation): Buffer {
  // Most of it happens where the head is.
  const place = Math.floor(at * Math.min(bytes.length, 300));
  return Buffer.concat([bytes.subarray(0, place), insert, bytes.subarray(place + remove)]);
}

/** Requests of a connection: right ones, and one that may be anything. */
export const sent: fc.Arbitrary<Sent> = fc
  .record({
    right: fc.array(rightRequest, { maxLength: 4 }),
    any: anyRequest,
    mutations: fc.oneof(
      { weight: 3, arbitrary: fc.constant<Mutation[]>([]) },
      { weight: 1, arbitrary: fc.array(mutation, { maxLength: 2 }) },
    ),
    kept: mostly(1, 0, 0.2, 0.5, 0.9, 0.99),
    cuts: fc.oneof(fc.constant<number[]>([]), fc.array(part, { maxLength: 4 })),
    isPatient: fc.boolean(),
    ends: mostly(false, true),
  })
  .map(({ right, any, mutations, kept, cuts, isPatient, ends }) => {
    const whole = mutations.reduce(mutate, any);
    return { right, last: whole.subarray(0, Math.ceil(whole.length * kept)), cuts, isPatient, ends };
  });

/** Cuts bytes into pieces. */
export function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((at) => Math.floor(at * bytes.length)).sort((a, b) => a - b), bytes.length];
  return places
    .slice(1)
    .map((to, index) => bytes.subarray(places[index], to))
    .filter(({ length: bytes_ }) => bytes_ > 0);
}
