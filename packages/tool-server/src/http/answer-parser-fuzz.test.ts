import fc from "fast-check";
import { expect, test } from "vitest";
import { type ParsedAnswer, parseAnswer, parseWithNode } from "./parsed-answer.test.helper.js";

/** How many answers are tried; many more are by hand now and then. */
const runs = Number(process.env.FUZZ_RUNS ?? 4000);

const lineEnds = fc.oneof(
  { weight: 40, arbitrary: fc.constant("\r\n") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("\n", "\r", "\r\r\n", "\n\r\n", "\r\n\r\n", "", "\r\n ", "\r\n\t", "\0\r\n"),
  },
);

const statusLines = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom("HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 500 ") },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      "HTTP/1.1 204 No Content",
      "HTTP/1.1 304 Not Modified",
      "HTTP/1.1 200",
      "HTTP/1.1 999 \x80\xff",
      "HTTP/1.1 101 Switching Protocols",
      "HTTP/1.1 205 Reset Content",
      "HTTP/1.1 099 x",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "HTTP/1.1  200 OK",
      "HTTP/1.1\t200 OK",
      "HTTP/1.1 200\tOK",
      "HTTP/1.1 20 OK",
      "HTTP/1.1 2000 OK",
      "HTTP/1.1 +20 OK",
      "HTTP/2.0 200 OK",
      "HTTP/1.2 200 OK",
      "HTTP/0.9 200 OK",
      "HTTP/1.10 200 OK",
      "http/1.1 200 OK",
      "HTTP/1.1 200 O\0K",
      "HTTP/1.1 200 O\rK",
      "HTTP/1.1 200 O\x7fK",
      " HTTP/1.1 200 OK",
      "\r\nHTTP/1.1 200 OK",
      "ICY 200 OK",
      "RTSP/1.0 200 OK",
      "",
    ),
  },
);

const lengths = fc.constantFrom(
  ..."0|1|5|5|5|5|05|0000000005|+5|-5|-0| 5 |\t5|5\t|5 5|5,5|5, 5|5,6|0x5|5.0|5e0|5;a|5\x0b|\xa05|5_|99999999999999999999|18446744073709551621|".split(
    "|",
  ),
);

const encodings = fc.constantFrom(
  ...'chunked|chunked|chunked|chunked|Chunked|CHUNKED| chunked |\tchunked\t|chunked, chunked|gzip, chunked|chunked, gzip|chunked,|,chunked|identity|identity, chunked|chunked;a=b|chunked \x0b|\x0bchunked|xchunked|chunked x|"chunked"|gzip|chunke|'.split(
    "|",
  ),
);

const connections = fc.constantFrom(
  ..."close|keep-alive|Close|Keep-Alive|close, keep-alive|keep-alive, x|x|,|close x|upgrade|".split("|"),
);

const fields = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom("Content-Length", "content-length"), lengths) },
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom("Transfer-Encoding", "transfer-encoding"), encodings) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom("Connection", "Proxy-Connection", "Keep-Alive"), connections) },
  {
    weight: 6,
    arbitrary: fc.tuple(
      fc.constantFrom("X", "content-type", "Set-Cookie", "__proto__", "constructor", "!#$%&'*+-.^_`|~", "Upgrade"),
      fc.constantFrom(
        "",
        "a",
        "a b",
        "  a\t",
        "\xe4\xff",
        "a:b",
        ",",
        '"',
        "h2c",
        "a\r\n b",
        "a\r\n\tb\r\n c",
        "a\r\n ",
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom(
        "",
        " ",
        "X ",
        "X\t",
        " X",
        "X Y",
        "Content-Length ",
        "Transfer-Encoding ",
        "X\0",
        "\xe4",
        "(X)",
        "X\r",
      ),
      fc.constantFrom("5", "chunked", "a\0b", "a\rb", "a\nb", "a\x7fb", "a\x01b", "a\x0bb"),
    ),
  },
);

const fieldLines = fc
  .tuple(
    fields,
    fc.oneof(
      { weight: 30, arbitrary: fc.constant(": ") },
      { weight: 3, arbitrary: fc.constantFrom(":", ":\t ", ":\r\n ", ":\r\n\t\r\n ") },
      { weight: 1, arbitrary: fc.constantFrom(" : ", "", " ", "\t:", "::") },
    ),
    lineEnds,
  )
  .map(([[name, value], between, end]) => `${name}${between}${value}${end}`);

const sizes = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom("5", "5", "05", "0000000005", "5;a=b", "5;a", '5;a="b c"', "5;") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...'0x5|+5|-5| 5|5 |5\t|5 ;a|5; a|5 ; a = b|5;a=b;c=d|5;\xe4|5;a\0|5;a\rb|5;a="\\""|5;a="|5,a|5.|5g|00000000000000000005|10000000000000005|ffffffffffffffff|fffffffffffffffff|'.split(
        "|",
      ),
    ),
  },
);

const chunks = fc
  .tuple(sizes, lineEnds, fc.constantFrom("hello", "hello", "hello", "hell", "hello!", "h\r\n\0\n"), lineEnds)
  .map((parts) => parts.join(""));

const lastChunks = fc
  .tuple(
    fc.constantFrom("0", "0", "0", "00", "0;a=b", "0000000000000000", "0x0", "-0", "0 ", ""),
    lineEnds,
    fc.array(fieldLines, { maxLength: 2 }),
    lineEnds,
  )
  .map(([zero, end, trailers, empty]) => `${zero}${end}${trailers.join("")}${empty}`);

const bodies = fc.oneof(
  fc.constantFrom("", "hello", "hello", "hello!", "hell", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
  fc.tuple(fc.array(chunks, { maxLength: 3 }), lastChunks).map(([some, last]) => `${some.join("")}${last}`),
);

const announcements = fc.oneof(
  { weight: 10, arbitrary: fc.constant("") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
      "HTTP/1.1 102 P\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 102 P\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.0 100 Continue\r\n\r\n",
      "HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n",
    ),
  },
);

const wildAnswers = fc
  .tuple(announcements, statusLines, lineEnds, fc.array(fieldLines, { maxLength: 4 }), lineEnds, bodies)
  .map(([announced, line, end, some, empty, body]) => `${announced}${line}${end}${some.join("")}${empty}${body}`);

/** As most answers are, to begin with: with a body that is as the head says. */
const rightAnswers = fc
  .tuple(
    fc.constantFrom("HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 \r\n"),
    fc.constantFrom(
      "",
      "X: a\r\n",
      "Connection: close\r\n",
      "Connection: keep-alive\r\nA: b\r\n c\r\n",
      "Set-Cookie: a\r\nE:\r\n",
    ),
    fc.constantFrom(
      "Content-Length: 5\r\n\r\nhello",
      "Content-Length:0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      'Transfer-Encoding: Chunked\r\n\r\n05;a=b;c="d"\r\nhello\r\n00a\r\n0123456789\r\n0\r\nX: y\r\n\r\n',
      "\r\nhello",
    ),
  )
  .map((parts) => parts.join(""));

const answers = fc.oneof(wildAnswers, rightAnswers);

const mutation = fc.record({
  kind: fc.constantFrom("change", "remove", "double", "insert", "move"),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  to: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  length: fc.integer({ min: 1, max: 6 }),
  bytes: fc.constantFrom(..."\r|\n|\r\n|\0| |\t|:|,|;|0|5|a|\x7f|\x80|\xff|\x0b|-|+".split("|")),
});

const mutants = fc.tuple(answers, fc.array(mutation, { maxLength: 2 })).map(([answer, mutations]) => {
  let text = answer;
  for (const { kind, at, to, length, bytes } of mutations) {
    const [start, end] = [Math.floor(at * text.length), Math.floor(at * text.length) + length];
    const [before, part, after] = [text.slice(0, start), text.slice(start, end), text.slice(end)];
    if (kind === "change") text = `${before}${bytes}${text.slice(start + 1)}`;
    else if (kind === "remove") text = before + after;
    else if (kind === "double") text = before + part + part + after;
    else if (kind === "insert") text = before + bytes + part + after;
    else {
      const rest = before + after;
      const place = Math.floor(to * rest.length);
      text = rest.slice(0, place) + part + rest.slice(place);
    }
  }
  return text;
});

function headOf({ status, headers }: ParsedAnswer): Pick<ParsedAnswer, "status" | "headers"> {
  return { status, headers };
}

/**
 * The heads of an answer without what we read and Node's parser refuses: a value that goes on in the next line, which a client is to read as
 * one with a blank (RFC 9112, section 5.2). We refuse it too in fields that say where the answer ends.
 */
function withoutFolds(text: string): string {
  const heads = /^(?:HTTP\/1\.1 1[\s\S]*?\r\n\r\n)*[\s\S]*?\r\n\r\n/.exec(text)?.[0] ?? "";
  return heads.replace(/\r\n[\t ]+/g, " ") + text.slice(heads.length);
}

test("[TS-D-HTTP-5] whatever is read is read as Node's parser does, or refused", async () => {
  let read = 0;
  await fc.assert(
    fc.asyncProperty(mutants, async (text) => {
      const bytes = Buffer.from(text, "latin1");
      const ours = parseAnswer([bytes]);
      // What has no head reaches nobody.
      if (ours.status === undefined) return;
      const theirs = await parseWithNode(Buffer.from(withoutFolds(text), "latin1"));
      read += 1;
      expect(headOf(ours)).toEqual(headOf(theirs));
      if (ours.outcome === "complete") expect(theirs.outcome).toBe("complete");
      if (ours.isKept) expect(theirs.isKept).toBe(true);
      // Where they refuse it they give back less of what came before.
      if (theirs.outcome !== "refused") expect(theirs.body.startsWith(ours.body)).toBe(true);
      if (theirs.outcome === ours.outcome && ours.outcome !== "refused") expect(ours.body).toBe(theirs.body);
    }),
    { numRuns: runs },
  );
  // Else nothing was proved.
  expect(read).toBeGreaterThan(runs / 10);
});

test("whatever comes is read, or refused, in the same way however it is cut", () => {
  fc.assert(
    fc.property(mutants, fc.array(fc.nat(300), { maxLength: 8 }), (text, cuts) => {
      const bytes = Buffer.from(text, "latin1");
      // Whether more follows an answer is not known before it comes.
      const { isKept: _, ...whole } = parseAnswer([bytes]);
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
      expect(parseAnswer(pieces)).toMatchObject(whole);
      expect(parseAnswer([...bytes].map((byte) => Buffer.of(byte)))).toMatchObject(whole);
    }),
    { numRuns: runs / 4 },
  );
});
