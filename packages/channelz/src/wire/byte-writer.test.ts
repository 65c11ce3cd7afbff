import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteWriter } from "./byte-writer.js";

describe("ByteWriter", () => {
  test("writes integers up to 2^53 and negative ones like protobuf's own writer", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const ours = new ByteWriter();
        ours.begin(0);
        ours.int(0x08, value);
        const theirs =
          value === 0 ? new Uint8Array() : new BinaryWriter().tag(1, WireType.Varint).int64(value).finish();
        expect(new Uint8Array(ours.finish())).toEqual(theirs);
      }),
    );
  });

  test("writes strings like protobuf's own writer, short and long, ASCII or not, with lone surrogates replaced", () => {
    // The unit "binary" of fast-check takes a second and 80 MB.
    const anyUnit = fc.nat(0xffff).map((unit) => String.fromCharCode(unit));
    const part = fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom("a", "é", "中", "🦊") });
    const text = fc.oneof(
      fc.string({ maxLength: 300 }),
      fc.string({ unit: anyUnit, maxLength: 60 }),
      fc.tuple(part, fc.integer({ min: 1, max: 500 })).map(([repeated, times]) => repeated.repeat(times)),
    );
    fc.assert(
      fc.property(text, (value) => {
        const ours = new ByteWriter();
        ours.begin(0);
        ours.stringAlways(0x0a, value);
        const reader = new BinaryReader(ours.finish());
        expect(reader.tag()).toEqual([1, WireType.LengthDelimited]);
        expect(reader.string()).toBe(value.toWellFormed());
        expect(reader.pos).toBe(reader.len);
      }),
    );
  });

  test("writes nested messages like protobuf's own writer, whatever their lengths and size estimates", () => {
    const size = fc.oneof(
      fc.nat(400),
      fc.integer({ min: 16_000, max: 17_000 }),
      fc.constantFrom(127, 128, 16_383, 16_384),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), size), { maxLength: 6 }), (levels) => {
        const ours = new ByteWriter();
        ours.begin(0);
        const opened = levels.map(([isLarge]) => (isLarge ? ours.openLarge(0x0a) : ours.openSmall(0x0a)));
        let expected = new Uint8Array();
        for (let level = levels.length - 1; level >= 0; level -= 1) {
          const [isLarge, length] = levels[level]!;
          const content = new Uint8Array(length).fill(level + 1);
          ours.bytes(0x12, content);
          const inner = new BinaryWriter();
          inner.raw(expected);
          if (length > 0) inner.tag(2, WireType.LengthDelimited).bytes(content);
          expected = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(inner.finish()).finish();
          if (isLarge) ours.closeLarge(opened[level]!);
          else ours.closeSmall(opened[level]!);
        }
        expect(Buffer.from(ours.finish()).equals(Buffer.from(expected))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

test("does not change returned bytes with later writes, and leaves the headroom to the caller", () => {
  const writer = new ByteWriter();
  writer.begin(5);
  writer.string(0x0a, "first");
  const first = writer.finish();
  const copy = first.slice();
  writer.begin(5);
  writer.string(0x0a, "second");
  writer.finish().fill(0xff);
  expect(first).toEqual(copy);
  expect(first.length).toBe(5 + 2 + 5);
});

test("omits a time of 0, and encodes other times to the nanosecond that a millisecond has", () => {
  const writer = new ByteWriter();
  writer.begin(0);
  writer.timestamp(0x0a, 0);
  expect(writer.finish().length).toBe(0);
  writer.begin(0);
  writer.timestamp(0x0a, 1_700_000_000_123);
  const reader = new BinaryReader(writer.finish());
  reader.tag();
  reader.uint32();
  reader.tag();
  expect(reader.int64()).toBe(1_700_000_000n);
  reader.tag();
  expect(reader.int32()).toBe(123_000_000);
});
