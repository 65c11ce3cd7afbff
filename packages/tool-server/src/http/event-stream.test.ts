import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEventStreamParser, type StreamEvent } from "./event-stream.js";

interface Outcome {
  readonly events: StreamEvent[];
  readonly retries: number[];
  readonly failure: string | undefined;
}

function parse(chunks: readonly Buffer[], limitBytes = 1_000_000): Outcome {
  const outcome = { events: [] as StreamEvent[], retries: [] as number[], failure: undefined as string | undefined };
  const parser = createEventStreamParser({
    limitBytes,
    onEvent: (event) => outcome.events.push(event),
    onRetry: (delayMs) => outcome.retries.push(delayMs),
  });
  try {
    for (const chunk of chunks) parser.push(chunk);
  } catch (error) {
    outcome.failure = (error as { code: string }).code;
  }
  return outcome;
}

const eventsOf = (text: string): StreamEvent[] => parse([Buffer.from(text)]).events;
const message = (data: string, id?: string): StreamEvent => ({ type: "message", data, id });

describe("an event stream", () => {
  test.each(["\n", "\r", "\r\n"])("splits lines that end with %j", (end) => {
    expect(eventsOf(`data: a${end}${end}data: b${end}data: c${end}${end}`)).toEqual([message("a"), message("b\nc")]);
  });

  test("reads type, id and data in any order", () => {
    expect(eventsOf("id: 7\nevent: endpoint\ndata: /x\n\n")).toEqual([{ type: "endpoint", data: "/x", id: "7" }]);
    expect(eventsOf("data: /x\nevent: endpoint\nid: 7\n\ndata: y\n\n")).toEqual([
      { type: "endpoint", data: "/x", id: "7" },
      message("y"),
    ]);
  });

  test("removes one space after the colon, and no more", () => {
    expect(eventsOf("data:  a\n\ndata:b\n\ndata:\n\ndata\n\ndata: \n\n")).toEqual(
      [" a", "b", "", "", ""].map((data) => message(data)),
    );
  });

  test("skips a byte order mark at the start", () => {
    expect(eventsOf("\ufeffdata: a\n\n\ufeffdata: b\n\n")).toEqual([message("a")]);
    expect(eventsOf("\ufeff\ndata: a\n\n")).toEqual([message("a")]);
  });

  test("ignores comments and fields of other names", () => {
    expect(eventsOf(": ping\n\n:\ndatum: x\ndata: a\nfoo\n\n")).toEqual([message("a")]);
  });

  test("reads the retry delay only if it consists of digits", () => {
    expect(
      parse([Buffer.from("retry: 1500\n\nretry: 1e3\nretry: -1\nretry: 99999999999\nretry:0\n\n")]).retries,
    ).toEqual([1500, 0]);
  });

  test("reports events with an id and empty data, as a position to resume from", () => {
    expect(eventsOf("id: 2\ndata:\n\nid: a\0b\ndata: x\n\nid\ndata: y\n\n")).toEqual([
      message("", "2"),
      message("x"),
      message("y", ""),
    ]);
  });

  test("drops an event in which the stream breaks off", () => {
    expect(eventsOf("data: a\n\ndata: b\n")).toEqual([message("a")]);
  });

  test("gives up at an event that exceeds the limit, whether it is one line or many", () => {
    expect(parse([Buffer.from(`data: ${"x".repeat(101)}\n\n`)], 100).failure).toBe("MESSAGE_TOO_LARGE");
    expect(parse([Buffer.from(`data: ${"x".repeat(94)}\n\n`)], 100).failure).toBeUndefined();
    expect(parse([Buffer.from("data: xxxx\n".repeat(21))], 100).failure).toBe("MESSAGE_TOO_LARGE");
    expect(parse(Array(30).fill(Buffer.from("xxxx")), 100).failure).toBe("MESSAGE_TOO_LARGE");
    expect(parse([Buffer.from("data: xxxx\n\n".repeat(50))], 100).events).toHaveLength(50);
  });

  test("skips a line of data above the limit, however it is cut into pieces, if that is allowed", () => {
    for (const end of ["\n", "\r", "\r\n"]) {
      const large = `{"id":1,"text":"${"x".repeat(2000)}"}`;
      const lines = [
        "data: a",
        "",
        "event: message",
        `data: ${large}`,
        "",
        "data: b",
        "",
        `data:${large}`,
        "",
        "data: c",
        "",
        "",
      ];
      const whole = Buffer.from(lines.join(end));
      for (const size of [1, 2, 7, 1000, 2100, whole.length]) {
        const [events, skipped]: [string[], string[]] = [[], []];
        const parser = createEventStreamParser({
          limitBytes: 1000,
          onEvent: ({ data }) => events.push(data),
          onTooLarge: (data) => skipped.push(`${data.start.slice(0, 8)}…${data.end.slice(-3)}`) > 0,
        });
        for (let at = 0; at < whole.length; at += size) parser.push(whole.subarray(at, at + size));
        expect(events).toEqual(["a", "b", "c"]);
        expect(skipped).toEqual(['{"id":1,…x"}', '{"id":1,…x"}']);
      }
    }
  });

  test("gives up at a line that may never end, and at one that is not data, even if events may be skipped", () => {
    const parser = () => createEventStreamParser({ limitBytes: 100, onEvent: () => {}, onTooLarge: () => true });
    const endless = parser();
    endless.push(Buffer.from("data: "));
    expect(() => {
      for (let at = 0; at < 20; at += 1) endless.push(Buffer.alloc(100, "x"));
    }).toThrow("more than 100 bytes");
    expect(() => parser().push(Buffer.from(`: ${"x".repeat(50)}`))).not.toThrow();
    const comment = parser();
    comment.push(Buffer.from(": "));
    comment.push(Buffer.alloc(200, "x"));
    expect(() => comment.push(Buffer.from("\n"))).toThrow("more than 100 bytes");
  });

  test("accepts any number of comments", () => {
    expect(parse(Array(50).fill(Buffer.from(": still here\n")), 100).failure).toBeUndefined();
  });

  test("reads a line of ten megabytes in small pieces", () => {
    const text = "é".repeat(5 * 1024 * 1024);
    const bytes = Buffer.from(`data: ${text}\n\n`);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 16_383) chunks.push(bytes.subarray(at, at + 16_383));
    const { events } = parse(chunks, 16 * 1024 * 1024);
    expect(events).toHaveLength(1);
    expect(events[0]?.data === text).toBe(true);
  });

  test("reads the same events however the stream is cut into pieces", () => {
    const token = fc.constantFrom(
      "data:",
      "data: ",
      "id: ",
      "event: ",
      "retry: 5",
      ":",
      "\n",
      "\r",
      "\r\n",
      "\n\n",
      "é",
      "𝄞",
      "\ufeff",
      "x",
      "\0",
      " ",
    );
    const bytes = fc.oneof(
      fc.array(token, { maxLength: 40 }).map((tokens) => Buffer.from(tokens.join(""))),
      fc
        .array(fc.constantFrom(0x0a, 0x0d, 0x3a, 0x20, 0xef, 0xbb, 0xbf, 0xc3, 0xa9, 0x64, 0xf0), { maxLength: 40 })
        .map((list) => Buffer.from([...Buffer.from("data: "), ...list, 0x0a, 0x0a])),
    );
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(45), { maxLength: 12 }), (whole, cuts) => {
        const edges = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const chunks = edges.slice(1).map((end, index) => whole.subarray(edges[index], end));
        expect(parse(chunks)).toEqual(parse([whole]));
      }),
      { numRuns: 2000 },
    );
  });
});
