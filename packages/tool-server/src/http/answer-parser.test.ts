import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnswerDefect } from "./answer-defect.js";
import { type AnswerHandler, AnswerParser } from "./answer-parser.js";
import { type ParsedAnswer, parseAnswer } from "./parsed-answer.test.helper.js";

const ok = "HTTP/1.1 200 OK\r\n";
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

/** Answers, each with what is to be understood. */
const samples: readonly (readonly [what: string, text: string, expected: Partial<ParsedAnswer>])[] = [
  [
    "a length",
    `${ok}Content-Length: 5\r\nX: a\r\n\r\nhello`,
    { body: "hello", headers: { "content-length": "5", x: "a" } },
  ],
  ["a length of nothing", `${ok}Content-Length: 0\r\n\r\n`, { body: "" }],
  ["a body that looks like answers", `${ok}Content-Length: 25\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n`, {}],
  ["chunks", `${chunked}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n`, { body: "hello!" }],
  ["chunks of line ends", `${chunked}4\r\n\r\n\r\n\r\n02\r\n0\r\r\n0\r\n\r\n`, { body: "\r\n\r\n0\r" }],
  ["things said of chunks", `${chunked}5;a;b=c;d="e;\\" f"\r\nhello\r\n0;x=y\r\n\r\n`, { body: "hello" }],
  ["trailers", `${chunked}A\r\n0123456789\r\n000\r\nX: y\r\nZ:\r\n\r\n`, { body: "0123456789" }],
  ["no length", `${ok}X: y\r\n\r\nhello\r\n\r\n`, { body: "hello\r\n\r\n", isKept: false }],
  [
    "announcements",
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nL: m\r\n\r\n${ok}Content-Length: 2\r\n\r\nok`,
    { body: "ok" },
  ],
  [
    "folded headers",
    `${ok}X: a\r\n b \r\n\t c\r\nContent-Length: 1\r\n\r\nx`,
    { headers: { x: "a b  c", "content-length": "1" } },
  ],
  ["204", "HTTP/1.1 204 No Content\r\n\r\n", { status: 204, body: "" }],
  ["204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", { status: 204, body: "" }],
  ["304", "HTTP/1.1 304 Not Modified\r\n\r\n", { status: 304, body: "" }],
  ["304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 99999\r\n\r\n", { status: 304, body: "" }],
  ["304 with chunks", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", { status: 304, body: "" }],
  ["1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", { body: "ok", isKept: false }],
  ["1.0 that is kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", { body: "ok" }],
  ["1.0 without a length", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nok", { body: "ok", isKept: false }],
  ["one that is not kept", `${ok}Connection: x, Close\r\nContent-Length: 2\r\n\r\nok`, { body: "ok", isKept: false }],
  ["no reason", "HTTP/1.1 500\r\nContent-Length: 0\r\n\r\n", { status: 500 }],
];

describe("an answer with", () => {
  test.each(samples)("%s is the same however it is cut", (_, text, expected) => {
    const bytes = Buffer.from(text, "latin1");
    const whole = parseAnswer([bytes]);
    expect(whole).toMatchObject({ outcome: "complete", status: 200, isKept: true, ...expected });
    for (let first = 1; first < bytes.length; first += 1) {
      expect(parseAnswer([bytes.subarray(0, first), bytes.subarray(first)])).toEqual(whole);
      const next = first + 1 + (first % 5);
      expect(parseAnswer([bytes.subarray(0, first), bytes.subarray(first, next), bytes.subarray(next)])).toEqual(whole);
    }
    expect(parseAnswer([...bytes].map((byte) => Buffer.of(byte)))).toEqual(whole);
    // Cut off at any place, it is never taken for a whole one, but for one that the end of the connection ends.
    if (whole.headers["content-length"] === undefined && expected.isKept === false) return;
    for (let end = 0; end < bytes.length; end += 1)
      expect(parseAnswer([bytes.subarray(0, end)]).outcome).toBe("cut-off");
  });

  test("any body, in any chunks, is the same in any pieces", () => {
    const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(bodies, fc.boolean(), fc.array(fc.nat(), { maxLength: 12 }), (parts, isChunked, cuts) => {
        const body = Buffer.concat(parts);
        const chunks = parts.map((part) =>
          Buffer.concat([Buffer.from(`${part.length.toString(16)};a\r\n`), part, Buffer.from("\r\n")]),
        );
        const bytes = isChunked
          ? Buffer.concat([Buffer.from(chunked), ...chunks, Buffer.from("0\r\nT: u\r\n\r\n")])
          : Buffer.concat([Buffer.from(`${ok}Content-Length: ${body.length}\r\n\r\n`), body]);
        const places = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
        const parsed = parseAnswer(pieces);
        expect(parsed).toMatchObject({ outcome: "complete", isKept: true, body: body.toString("latin1") });
      }),
      { numRuns: 500 },
    );
  });
});

/** What a parser that waits for an answer tells, in words. */
function listen(): { parser: AnswerParser; told: string[] } {
  const told: string[] = [];
  const handler: AnswerHandler = {
    onHead: ({ status }) => told.push(`head ${status}`),
    onBody: (piece) => told.push(`body ${piece.toString("latin1")}`),
    onEnd: (isClean) => told.push(isClean ? "end" : "end, not clean"),
  };
  const parser = new AnswerParser(handler);
  parser.begin();
  return { parser, told };
}

const kindOf = (push: () => void): AnswerDefect["kind"] | undefined => {
  try {
    push();
  } catch (error) {
    return (error as AnswerDefect).kind;
  }
  return undefined;
};

describe("after an answer", () => {
  const answer = Buffer.from(`${ok}Content-Length: 2\r\n\r\nok`);

  test("the next comes once it is asked for", () => {
    const { parser, told } = listen();
    for (let round = 0; round < 3; round += 1) {
      parser.push(answer);
      parser.begin();
    }
    expect(told).toEqual(Array.from({ length: 3 }, () => ["head 200", "body ok", "end"]).flat());
  });

  test("another that nobody asked for is a defect, in the same piece or in a later one", () => {
    const same = listen();
    expect(kindOf(() => same.parser.push(Buffer.concat([answer, answer])))).toBe("malformed");
    expect(same.told).toEqual(["head 200", "body ok", "end, not clean"]);
    const later = listen();
    later.parser.push(answer);
    expect(kindOf(() => later.parser.push(answer))).toBe("malformed");
    expect(later.told).toEqual(["head 200", "body ok", "end"]);
  });

  test.each([
    ["a length of nothing", `${ok}Content-Length: 0\r\n\r\n`],
    ["204", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["chunks", `${chunked}0\r\n\r\n`],
  ])("that has %s, one more byte makes the connection useless", (_, text) => {
    const { parser, told } = listen();
    expect(kindOf(() => parser.push(Buffer.from(`${text}\n`)))).toBe("malformed");
    expect(told).toEqual([expect.stringMatching("head"), "end, not clean"]);
  });
});

describe("without an end", () => {
  const drip = (parser: AnswerParser, begins: string, piece: string): string | undefined => {
    parser.push(Buffer.from(begins));
    const bytes = Buffer.from(piece);
    return kindOf(() => {
      for (let pushed = 0; pushed < 1024 * 1024; pushed += bytes.length) parser.push(bytes);
    });
  };

  test.each([
    ["a header", `${ok}X: `, "x"],
    ["headers", ok, "X: x\r\n"],
    ["announcements", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n"],
    ["the line of the status", "HTTP/1.1 200 ", "O"],
    ["folds", `${ok}X: `, "\r\n "],
  ])("%s of an answer comes to 16 KiB, and no further", (_, begins, piece) => {
    const { parser, told } = listen();
    expect(drip(parser, begins, piece)).toBe("head-too-large");
    expect(told).toEqual([]);
  });

  test.each([
    ["what is said of a chunk", chunked, ";a"],
    ["a size", `${chunked}0`, "0"],
    ["a value in quotes", `${chunked}5;a="`, "x"],
    ["a trailer", `${chunked}0\r\nX: `, "x"],
    ["trailers", `${chunked}0\r\n`, "X: x\r\n"],
  ])("%s is refused", (_, begins, piece) => {
    expect(drip(listen().parser, begins, piece)).toBe("malformed");
  });

  test("what is no answer is refused with its first byte that shows it", () => {
    expect(kindOf(() => listen().parser.push(Buffer.from("S")))).toBe("malformed");
    expect(kindOf(() => listen().parser.push(Buffer.from("HTTP/1.")))).toBe(undefined);
    expect(kindOf(() => listen().parser.push(Buffer.from("HTTP/2")))).toBe("malformed");
  });

  test("a connection that ends in an answer says so, and one that ends between two says nothing", () => {
    const { parser } = listen();
    expect(() => parser.end()).toThrow("The server ended the connection.");
    parser.push(Buffer.from(`${ok}Content-Length: 0\r\n\r\n`));
    parser.end();
  });
});
