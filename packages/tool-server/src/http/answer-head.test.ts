import { describe, expect, test } from "vitest";
import { AnswerDefect } from "./answer-defect.js";
import { AnswerHead } from "./answer-head.js";

const head = (...fields: string[]): AnswerHead => new AnswerHead(["HTTP/1.1 200 OK", ...fields].join("\r\n"));

describe("the end of an answer", () => {
  test.each([
    [["Content-Length: 5"], { kind: "length", bytes: 5 }],
    [["content-length:005 "], { kind: "length", bytes: 5 }],
    [["Transfer-Encoding:  CHUNKED"], { kind: "chunked" }],
    [["X-Content-Length: 5", "Content-Length-: 6", "Content_Length: 7"], { kind: "until-close" }],
    [[], { kind: "until-close" }],
  ])("is told by %j", (fields, framing) => {
    expect(head(...fields).framing).toEqual(framing);
  });

  test.each([
    ...["+5", "-5", "5 5", "5,5", "5, 6", "0x5", "5.0", "5e1", "", "5\t", "\t5", "5;", "9".repeat(16), "\xb2"].map(
      (value) => [`Content-Length: ${value}`],
    ),
    ...[
      "chunked, chunked",
      "gzip, chunked",
      "chunked, gzip",
      "identity",
      "gzip",
      "",
      "chunked,",
      "chunked\t",
      '"chunked"',
    ].map((value) => [`Transfer-Encoding: ${value}`]),
    ["Content-Length: 5", "Content-Length: 5"],
    ["Transfer-Encoding: chunked", "Content-Length: 5"],
    ["Content-Length: 5", "transfer-encoding: chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    ["Content-Length:\r\n 5"],
    ["Content-Length: 5\r\n "],
    ["Transfer-Encoding:\r\n\tchunked"],
  ])("is not told by %j %s", (...fields) => {
    expect(() => head(...fields)).toThrow(AnswerDefect);
  });

  test("is not told by chunks in HTTP/1.0", () => {
    expect(() => new AnswerHead("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked")).toThrow(AnswerDefect);
  });
});

describe("a head", () => {
  test.each([
    "HTTP/1.1 200 OK\n",
    "HTTP/1.1  200 OK",
    "HTTP/1.1 20 OK",
    "HTTP/1.1 2000 OK",
    "HTTP/1.1 099 OK",
    "HTTP/1.2 200 OK",
    "HTTP/2 200 OK",
    "http/1.1 200 OK",
    " HTTP/1.1 200 OK",
    "HTTP/1.1 200\tOK",
    "HTTP/1.1 200 O\0K",
    "",
  ])("has no line of the status such as %j", (line) => {
    expect(() => new AnswerHead(line)).toThrow("The line of the status is not one of HTTP/1.1.");
  });

  test.each([
    "X : a",
    ": a",
    "X",
    "",
    "X Y: a",
    "(X): a",
    "\xe4: a",
    "X: a\0b",
    "X: a\rb",
    "X: a\nb",
    "X: a\x7fb",
    "X: a\x01b",
  ])("has no field such as %j", (field) => {
    expect(() => head("A: b", field, "C: d")).toThrow(AnswerDefect);
  });

  test("joins headers of one name, keeps the last cookie, and knows no prototype", () => {
    const { headers, contentType } = head(
      "X:a",
      "x: \tb c\t ",
      "Set-Cookie: 1",
      "Set-Cookie: 2",
      "__proto__: p",
      "Content-Type: t",
      "E:",
    );
    expect({ ...headers }).toEqual(
      Object.assign(JSON.parse('{"__proto__":"p"}'), { x: "a, b c", "set-cookie": "2", "content-type": "t", e: "" }),
    );
    expect(headers.constructor).toBe(undefined);
    expect(contentType).toBe("t");
  });

  test("with many blanks in a value is read in no time", () => {
    const before = performance.now();
    const value = `  a${" ".repeat(16_000)}b`;
    for (let round = 0; round < 20; round += 1)
      expect(head(`X: ${value}`, `Connection: ${value}`).headers.x).toHaveLength(16_002);
    // With the square of the blanks it takes several seconds.
    expect(performance.now() - before).toBeLessThan(2000);
  });
});

describe("whether the connection is kept", () => {
  test.each([
    [["Content-Length: 0"], true],
    [["Content-Length: 0", "Connection: close"], false],
    [["Content-Length: 0", "Connection: keep-alive,\tClose\t"], false],
    [["Content-Length: 0", "Connection: a", "connection: close"], false],
    [["Content-Length: 0", "Connection: x\r\n ,close"], false],
    [["Content-Length: 0", "Proxy-Connection: close"], false],
    [["Content-Length: 0", "Connection: closed"], true],
    [["Connection: keep-alive"], false],
  ])("is said by %j: %s", (fields, expected) => {
    expect(head(...fields).isKeptAlive).toBe(expected);
  });

  test.each([
    ["timeout=5", 5000],
    ["timeout=5, max=100", 5000],
    ["max=100,Timeout=0", 0],
    ["timeout=999999", 999_999_000],
    ["timeout=9999999", undefined],
    ["timeout=-1", undefined],
    ["timeout=1.5", undefined],
    ["timeout=1e3", undefined],
    ["timeout=", undefined],
    ["xtimeout=5", undefined],
    ["nonsense", undefined],
  ])("for how long is said by %j: %s", (value, expected) => {
    expect(head(`Keep-Alive: ${value}`).keptMs).toBe(expected);
  });
});
