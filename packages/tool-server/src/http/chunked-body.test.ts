import { describe, expect, test } from "vitest";
import { AnswerDefect } from "./answer-defect.js";
import { ChunkedBody } from "./chunked-body.js";

function read(...pieces: string[]): { pieces: string[]; rest: string; isOver: boolean } {
  const got: string[] = [];
  const body = new ChunkedBody({ onBody: (piece) => got.push(piece.toString("latin1")) });
  let rest = "";
  for (const piece of pieces) rest = piece.slice(body.push(Buffer.from(piece, "latin1"), 0));
  return { pieces: got, rest, isOver: body.isOver };
}

describe("a body in chunks", () => {
  test("stops at its end, and leaves what follows", () => {
    expect(read("1\r\na\r\n0\r\n\r\nHTTP")).toEqual({ pieces: ["a"], rest: "HTTP", isOver: true });
    expect(read("1\r\na\r\n0\r\n", "X: y\r\n\r\nHTTP")).toEqual({ pieces: ["a"], rest: "HTTP", isOver: true });
    expect(read("1\r\na\r\n0\r\n\r")).toEqual({ pieces: ["a"], rest: "", isOver: false });
  });

  test("comes in one piece for each that it came in, however small the chunks", () => {
    const many = "1\r\nx\r\n".repeat(1000);
    expect(read(many, many, "0\r\n\r\n").pieces).toEqual(["x".repeat(1000), "x".repeat(1000)]);
    expect(read("5\r\nhe", "llo\r\n", "0\r\n\r\n").pieces).toEqual(["he", "llo"]);
  });

  test("is handed on as far as it was right", () => {
    const got: string[] = [];
    const body = new ChunkedBody({ onBody: (piece) => got.push(piece.toString()) });
    expect(() => body.push(Buffer.from("1\r\na\r\n1\r\nb\r\nzz\r\n"), 0)).toThrow(AnswerDefect);
    expect(got).toEqual(["ab"]);
  });

  test.each([
    ...[
      "0x5",
      "+5",
      "-5",
      " 5",
      "5 ",
      "5\t",
      "5 ;a",
      "5; a",
      "5;",
      "5;=b",
      '5;a="',
      "5;a=",
      "5,",
      "5g",
      "",
      "5;a\0",
      "5;a\rb",
      "5;\xe4",
    ],
    "1000000000000",
    "0000000000005",
  ])("has no size such as %j", (size) => {
    expect(() => read(`${size}\r\nhello\r\n`)).toThrow(AnswerDefect);
  });

  test.each([
    ["a bare LF after a size", "5\nhello\r\n"],
    ["a bare CR after a size", "5\rhello\r\n"],
    ["a bare LF after a chunk", "5\r\nhello\n0\r\n\r\n"],
    ["nothing after a chunk", "5\r\nhello0\r\n\r\n"],
    ["more than a chunk said", "5\r\nhello!\r\n0\r\n\r\n"],
    ["a bare LF at the end", "0\r\n\n"],
    ["a trailer without a name", "0\r\n: x\r\n\r\n"],
    ["a trailer with a blank in its name", "0\r\nX : x\r\n\r\n"],
    ["a trailer that goes on in the next line", "0\r\nX: x\r\n y\r\n\r\n"],
    ["a trailer with NUL", "0\r\nX: \0\r\n\r\n"],
    ["a length among the trailers", "0\r\nContent-Length: 5\r\n\r\n"],
    ["an encoding among the trailers", "0\r\ntransfer-encoding: chunked\r\n\r\n"],
  ])("with %s is refused, however it is cut", (_, text) => {
    expect(() => read(text)).toThrow(AnswerDefect);
    expect(() => read(...text)).toThrow(AnswerDefect);
  });

  test("may say up to a kibibyte of a chunk, and have 16 of trailers", () => {
    const long = (bytes: number): string => `5;a=${"x".repeat(bytes - 6)}\r\n`;
    expect(read(`${long(1024)}hello\r\n0\r\n\r\n`).pieces).toEqual(["hello"]);
    expect(() => read(`${long(1025)}hello\r\n0\r\n\r\n`)).toThrow(AnswerDefect);
    expect(read(`0\r\n${"X: 7\r\n".repeat(2730)}\r\n`).isOver).toBe(true);
    expect(() => read(`0\r\n${"X: 7\r\n".repeat(2731)}\r\n`)).toThrow(AnswerDefect);
  });
});
