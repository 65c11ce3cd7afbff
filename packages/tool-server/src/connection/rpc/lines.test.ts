import { describe, expect, test } from "vitest";
import { createLineReader } from "./lines.js";

function read(chunks: readonly (string | Buffer)[], limitBytes = 1024): { lines: string[]; tooLong: number } {
  const lines: string[] = [];
  let tooLong = 0;
  const reader = createLineReader(
    limitBytes,
    (line) => lines.push(line),
    () => {
      tooLong += 1;
    },
  );
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  reader.end();
  return { lines, tooLong };
}

describe("lines of a child", () => {
  test("splits lines regardless of the chunks that they arrive in", () => {
    const text = "first\nsecond ü\n\n  \n{}\r\nlast";
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(read(chunks).lines).toEqual(["first", "second ü", "{}\r", "last"]);
    }
  });

  test("accepts a line as long as the limit, and not a byte longer", () => {
    expect(read(["12345\n1234", "5\n"], 5)).toEqual({ lines: ["12345", "12345"], tooLong: 0 });
    for (const chunks of [
      ["123456\nnext\n"],
      ["123", "456\nnext\n"],
      ["1", "2", "3", "4", "5", "6"],
      ["12345", "6\n"],
    ]) {
      expect(read(chunks, 5)).toEqual({ lines: [], tooLong: 1 });
    }
  });

  test("can skip lines that are too long", () => {
    const lines: string[] = [];
    const reader = createLineReader(
      3,
      (line) => lines.push(line),
      () => lines.push("too long") > 0,
    );
    for (const chunk of ["abcd", "efg\nxyz\n", "abcdef\n\nabc\n"]) reader.push(Buffer.from(chunk));
    reader.end();
    expect(lines).toEqual(["too long", "xyz", "too long", "abc"]);
  });

  test("reads a line of many small chunks in linear time", () => {
    const piece = Buffer.alloc(64, "x");
    let length = 0;
    const reader = createLineReader(
      32 * 1024 * 1024,
      (line) => {
        length = line.length;
      },
      () => {},
    );
    const startedAt = performance.now();
    for (let index = 0; index < 250_000; index += 1) reader.push(piece);
    reader.push(Buffer.from("\n"));
    expect(length).toBe(64 * 250_000);
    // Copying the whole line for each chunk would be two terabytes.
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });
});
