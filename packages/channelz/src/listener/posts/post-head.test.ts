import { expect, test } from "vitest";
import { readPostHead } from "./post-head.js";

/** A head with these lines behind the first. */
const head = (...lines: string[]): string => ["POST /mcp HTTP/1.1", ...lines].join("\r\n");
const plain = ["Host: localhost", "Content-Length: 5"] as const;

test("a plain head is read: path, headers by their small names, length", () => {
  const text = head("HOST: localhost:80", "content-LENGTH:5", "X-Value:   a  b   ", "X-Empty:", "X-Colons: a:b");
  expect(readPostHead(text)).toEqual({
    text,
    path: "/mcp",
    headers: { host: "localhost:80", "content-length": "5", "x-value": "a  b", "x-empty": "", "x-colons": "a:b" },
    bodyBytes: 5,
  });
});

test.each([
  ["no connection header", head(...plain)],
  ["keep-alive", head(...plain, "Connection: keep-alive")],
  ["Keep-Alive", head(...plain, "connection:Keep-Alive ")],
  ["a length with zeros", head("host:", "content-length: 000000005 ")],
  ["names of objects", head(...plain, "constructor: x", "toString: y")],
])("a head with %s is taken", (_, text) => {
  expect(readPostHead(text)?.bodyBytes).toBe(5);
});

test.each([
  ["another method", "GET /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5"],
  ["a method in small letters", "post /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5"],
  ["a line before it", `\r\n${head(...plain)}`],
  ["HTTP/1.0", "POST /mcp HTTP/1.0\r\nHost: x\r\nContent-Length: 5"],
  ["HTTP/1.10", "POST /mcp HTTP/1.10\r\nHost: x\r\nContent-Length: 5"],
  ["two spaces", "POST  /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5"],
  ["a target in absolute form", "POST http://localhost/mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5"],
  ["a target with a space", "POST /mcp /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5"],
  ["a target beyond ASCII", "POST /mcp\xe9 HTTP/1.1\r\nHost: x\r\nContent-Length: 5"],
  ["no headers", "POST /mcp HTTP/1.1"],
  ["no host", head("Content-Length: 5")],
  ["no length", head("Host: x")],
  ...["+5", "-5", "0x5", "5.0", "5e0", "5,5", "5, 5", "5 5", "", "1234567890", "٥", "5;", "\t5", "5\t"].map(
    (length) => [`the length ${JSON.stringify(length)}`, head("Host: x", `Content-Length: ${length}`)],
  ),
  ["its length twice", head(...plain, "Content-Length: 5")],
  ["its host twice", head(...plain, "host: localhost")],
  ["any header twice", head(...plain, "X-A: 1", "x-a: 1")],
  ["connection: close", head(...plain, "Connection: close")],
  ["a list of connection options", head(...plain, "Connection: keep-alive, te")],
  ["an empty connection option", head(...plain, "Connection:")],
  ...["Transfer-Encoding: chunked", "transfer-encoding: identity", "Expect: 100-continue", "Upgrade: h2c"].map(
    (line) => [line, head(...plain, line)],
  ),
  ...["Proxy-Connection: keep-alive", "Trailer: x", "Set-Cookie: a=1", "__proto__: x"].map((line) => [
    line,
    head(...plain, line),
  ]),
  ["a folded line", head(...plain, "X-A: a", " b")],
  ["a line feed alone", head(...plain, "X-A: a\nTransfer-Encoding: chunked")],
  ["a carriage return alone", head(...plain, "X-A: a\rTransfer-Encoding: chunked")],
  ["an empty line", head("Host: x", "", "Content-Length: 5")],
  ["a line end behind it", `${head(...plain)}\r\n`],
  ["a NUL", head(...plain, "X-A: a\0b")],
  ["a DEL", head(...plain, "X-A: a\x7fb")],
  ["a byte beyond ASCII", head(...plain, "X-A: \xe9")],
  ["a name beyond ASCII", head(...plain, "X-\xe9: a")],
  ["a tab", head(...plain, "X-A: a\tb")],
  ["a space before the colon", head("Host: x", "Content-Length : 5")],
  ["a space before the name", head(...plain, " X-A: 1")],
  ["no name", head(...plain, ": 1")],
  ["no colon", head(...plain, "X-A")],
  ["more headers than most have", head(...plain, ...Array.from({ length: 99 }, (_, i) => `x-${i}: ${i}`))],
])("a head with %s is left to Node", (_, text) => {
  expect(readPostHead(text as string)).toBeUndefined();
});

test("the time that a head takes does not grow faster than the head", () => {
  const spaces = " ".repeat(16_000);
  const texts = [head(...plain, `X-A: a${spaces}b`), head(...plain, `X-A:${spaces}`), `${head(...plain)}\r\n${spaces}`];
  const startedAt = performance.now();
  for (let round = 0; round < 50; round++) for (const text of texts) readPostHead(text);
  // A tenth of a second; six where each space is looked at from every other.
  expect(performance.now() - startedAt).toBeLessThan(2000);
});
