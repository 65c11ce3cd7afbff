import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { waiting } from "../../waiting.test.helper.js";
import { createLineWriter, type LineWriter } from "./stdio-writer.js";
import { createTransportLife, type TransportLife } from "./transport-life.js";

interface Subject {
  readonly writer: LineWriter;
  readonly life: TransportLife;
  /** The written chunks. */
  readonly pieces: string[];
  readonly counts: number[];
}

function start(write?: (done: (error?: Error) => void) => void): Subject & { readonly broken: () => number } {
  const [pieces, counts]: [string[], number[]] = [[], []];
  let broken = 0;
  const life = createTransportLife("files");
  const stdin = new Writable({
    decodeStrings: false,
    write(chunk: string, _, done) {
      pieces.push(chunk);
      if (write === undefined) done();
      else write(done);
    },
  });
  stdin.on("error", () => {});
  const writer = createLineWriter({
    stdin,
    life,
    onWritten: (lines) => counts.push(lines),
    onBroken: () => {
      broken += 1;
    },
  });
  return { writer, life, pieces, counts, broken: () => broken };
}

describe("lines to a child", () => {
  test("writes the lines of one turn together, in order, and confirms them once they are written", async () => {
    const { writer, pieces, counts } = start();
    const sent = ["a", "b", "c"].map((line) => writer.write(line));
    expect(pieces).toEqual([]);
    await Promise.all(sent);
    expect(pieces).toEqual(["a\nb\nc\n"]);
    expect(counts).toEqual([3]);
    await writer.write("d");
    expect(pieces).toEqual(["a\nb\nc\n", "d\n"]);
  });

  test("writes many bytes at once, and everything at a flush", () => {
    const { writer, pieces } = start();
    const long = "x".repeat(70_000);
    void writer.write(long);
    expect(pieces).toEqual([`${long}\n`]);
    void writer.write("a");
    writer.flush();
    expect(pieces).toHaveLength(2);
    writer.flush();
    expect(pieces).toHaveLength(2);
  });

  test("rejects lines when the transport ends, whether they were written or not", async () => {
    const { writer, life, counts } = start(() => {});
    const left = writer.write("a");
    writer.flush();
    const waiting = writer.write("b");
    life.end();
    for (const sent of [left, waiting]) await expect(sent).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(counts).toEqual([]);
  });

  test("does not count lines as written that the child did not read", async () => {
    const { writer, life, counts, broken } = start((done) => done(new Error("EPIPE")));
    const sent = writer.write("a");
    writer.flush();
    await expect.poll(broken, waiting).toBe(1);
    life.end();
    await expect(sent).rejects.toMatchObject({ name: "ToolServerError" });
    expect(counts).toEqual([]);
  });
});
