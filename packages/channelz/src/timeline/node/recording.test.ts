import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { ChannelSchema } from "../../gen/rpc/channelz/v1/channelz_pb.js";
import { FrameSchema, SnapshotSchema } from "../../gen/wirescope/v1/timeline_pb.js";
import { arbitrarySnapshot, arbitrarySuccession } from "../arbitrary-snapshot.test.helper.js";
import { diffSnapshots } from "../delta.js";
import { encodeSnapshot } from "../encode-snapshot.js";
import { deltaFrame, snapshotFrame, snapshotsOf } from "../frame.js";
import { readRecording } from "../recording/read-recording.js";
import { fileMagic, headerLength, marker } from "../recording/recording-format.js";
import { scanRecording } from "../recording/scan-recording.js";
import { createObject, createSnapshot, type Snapshot } from "../snapshot.js";
import { openRecording } from "./recording.js";
import { createRecording, encodeBlock, type RecordingOptions } from "./recording-writer.js";

const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newPath = (): string => {
  files += 1;
  return join(folder, `${files}.wsr`);
};

const exact = { timePrecisionMs: 1 };

function record(snapshots: readonly Snapshot[], options: RecordingOptions = exact): string {
  const path = newPath();
  const writer = createRecording(path, options);
  for (const snapshot of snapshots) writer.append(snapshot);
  writer.close();
  return path;
}

/** The snapshots of a file, read in both ways. */
async function readBoth(path: string): Promise<Snapshot[]> {
  const found = read(path);
  const { timeline } = await readRecording(readFileSync(path));
  expect([...timeline.snapshots()]).toEqual(found);
  return found;
}

function read(path: string): Snapshot[] {
  const recording = openRecording(path);
  try {
    return [...recording.snapshots()];
  } finally {
    recording.close();
  }
}

function snapshotAt(timeMs: number, calls = timeMs): Snapshot {
  const message = create(ChannelSchema, {
    ref: { channelId: 1n, name: "orders" },
    data: { callsStarted: BigInt(calls), lastCallStartedTimestamp: timestampFromMs(timeMs) },
  });
  return createSnapshot({
    timeMs,
    origins: [{ name: "", target: "127.0.0.1:1" }],
    objects: [createObject({ origin: "", kind: "channel", isTop: true, message })],
  });
}

/** 8 snapshots in four blocks and two runs. */
const seconds = Array.from({ length: 8 }, (_, index) => snapshotAt(1000 + index * 1000));
const smallBlocks = { ...exact, flushMs: 1000, keyframeMs: 4000 };

describe("a recording", () => {
  test("[CZ-D-RECORD-1] contains every snapshot as it was appended", async () => {
    const history = fc
      .array(fc.oneof(arbitrarySnapshot, arbitrarySuccession), { minLength: 1, maxLength: 4 })
      .map((steps) => steps.flat().map((snapshot, index) => ({ ...snapshot, timeMs: 1000 + index * 10 })));
    const delay = fc.integer({ min: 1, max: 50 });
    await fc.assert(
      fc.asyncProperty(history, delay, delay, async (all, flushMs, keyframeMs) => {
        const path = record(all, { ...exact, flushMs, keyframeMs });
        expect(await readBoth(path)).toEqual(all);
        const recording = openRecording(path);
        for (const snapshot of all) expect(recording.at(snapshot.timeMs + 5)).toEqual(snapshot);
        expect(recording.at(999)).toBeUndefined();
        expect(recording.range()).toEqual({ firstMs: 1000, lastMs: all.at(-1)?.timeMs });
        expect(recording.newest()).toEqual(all.at(-1));
        expect(recording.damagedBytes).toBe(0);
        recording.close();
        rmSync(path);
      }),
      { numRuns: 25 },
    );
  });

  test("[CZ-D-RECORD-2] reads a file up to the cut, wherever it is cut", () => {
    const bytes = readFileSync(record(seconds, smallBlocks));
    const path = newPath();
    let before = 0;
    for (let length = 0; length <= bytes.length; length += 1) {
      writeFileSync(path, bytes.subarray(0, length));
      let found: Snapshot[] = [];
      try {
        found = read(path);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
      }
      expect(found).toEqual(seconds.slice(0, found.length));
      expect(found.length).toBeGreaterThanOrEqual(before);
      before = found.length;
    }
    expect(before).toBe(seconds.length);
  });

  test("[CZ-D-RECORD-3] loses at most one run if a byte of it changed, and never shows wrong data", async () => {
    const bytes = readFileSync(record(seconds, smallBlocks));
    const path = newPath();
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (position, change) => {
        const changed = Buffer.from(bytes);
        changed[position] = (changed[position] ?? 0) ^ change;
        writeFileSync(path, changed);
        if (position < fileMagic.length) {
          expect(() => read(path)).toThrow(position === 5 ? /version/ : /not a Wirescope recording/);
          return;
        }
        const found = await readBoth(path);
        for (const snapshot of found) {
          expect(seconds.find(({ timeMs }) => timeMs === snapshot.timeMs)).toEqual(snapshot);
        }
        expect(found.length).toBeGreaterThanOrEqual(seconds.length - 4);
        const recording = openRecording(path);
        expect(recording.damagedBytes).toBeGreaterThan(0);
        recording.close();
      }),
      { numRuns: 100 },
    );
  });

  test("continues after a recorder was killed in the middle of a block", () => {
    const path = record(seconds.slice(0, 4), smallBlocks);
    truncateSync(path, statSync(path).size - 3);
    const kept = read(path);
    expect(kept.length).toBeLessThan(4);
    const writer = createRecording(path, { ...smallBlocks, append: true });
    for (const snapshot of seconds.slice(6)) writer.append(snapshot);
    writer.close();
    expect(read(path)).toEqual([...kept, ...seconds.slice(6)]);
  });

  test("lists all snapshots in the order of their times if the clock was set back before it was continued", async () => {
    const path = record(seconds.slice(4), smallBlocks);
    const writer = createRecording(path, { ...smallBlocks, append: true });
    for (const snapshot of seconds.slice(0, 4)) writer.append(snapshot);
    writer.close();
    expect(await readBoth(path)).toEqual(seconds);
    expect(await readBoth(record([...seconds.slice(4), ...seconds.slice(0, 4)], exact))).toEqual(seconds);
    const recording = openRecording(path);
    expect(recording.range()).toEqual({ firstMs: 1000, lastMs: 8000 });
    recording.close();
  });

  test("does not grow beyond its maximum size", () => {
    const path = newPath();
    const writer = createRecording(path, { ...exact, flushMs: 1, keyframeMs: 1, maxBytes: 1000 });
    const taken = seconds.filter((snapshot) => writer.append(snapshot));
    writer.close();
    expect(statSync(path).size).toBeLessThanOrEqual(1000);
    expect(taken.length).toBeGreaterThan(1);
    expect(read(path).length).toBeGreaterThanOrEqual(taken.length - 1);
  });

  test("makes the file readable only by the user, and replaces no other file", () => {
    const path = record(seconds);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(() => createRecording(path)).toThrow(expect.objectContaining({ code: "EEXIST" }));
  });

  test("rounds times of last calls down to a second by default, and counts exactly", () => {
    const [snapshot] = read(record([snapshotAt(5678, 3)], {}));
    const channel = snapshot?.objects.get("|channel|1");
    expect(channel?.counters.started).toBe(3);
    expect(channel?.kind === "channel" && channel.message?.data?.lastCallStartedTimestamp).toEqual(
      timestampFromMs(5000),
    );
  });

  test("lists the changes between its snapshots", () => {
    const gone = createSnapshot({ ...snapshotAt(3000), objects: [] });
    const recording = openRecording(record([snapshotAt(1000), snapshotAt(2000), gone]));
    expect(recording.changes().map(({ timeMs, kind }) => [timeMs, kind])).toEqual([[3000, "disappeared"]]);
    expect(recording.changes({ lastMs: 2500 })).toEqual([]);
    recording.close();
  });
});

describe("a hostile recording", () => {
  const fileWith = (...blocks: Uint8Array[]): string => {
    const path = newPath();
    writeFileSync(path, Buffer.concat([fileMagic, ...blocks]));
    return path;
  };
  const framed = (frame: Uint8Array): Uint8Array => new BinaryWriter().bytes(frame).finish();
  const block = (raw: Uint8Array): Uint8Array =>
    encodeBlock(raw, { beginsRun: true, firstMs: 1000, before: new Uint8Array() });
  const good = block(framed(toBinary(FrameSchema, snapshotFrame(snapshotAt(1000)))));

  test("[CZ-D-RECORD-4] refuses a file that is not a recording, or has nothing that can be read", () => {
    const path = newPath();
    writeFileSync(path, "not a recording");
    expect(() => openRecording(path)).toThrow(/not a Wirescope recording/);
    expect(() => openRecording(fileWith())).toThrow(/no readable snapshot/);
    expect(() => openRecording(fileWith(block(new Uint8Array([5, 1, 2]))))).toThrow(/no readable snapshot/);
  });

  test("[CZ-D-RECORD-4] does not decompress more than a block says, nor a block that says too much", () => {
    const bomb = Buffer.from(block(new Uint8Array(2 ** 23)));
    const lying = Buffer.from(bomb);
    lying.writeUInt32LE(10, 20);
    for (const each of [
      lying,
      Buffer.concat([bomb.subarray(0, 16), Buffer.from([255, 255, 255, 255]), bomb.subarray(20)]),
    ]) {
      expect(read(fileWith(good, each))).toEqual([snapshotAt(1000)]);
    }
  });

  test("[CZ-D-RECORD-4] does not decode millions of list items and empty objects", () => {
    const listItems = 3_950_000;
    const object = new BinaryWriter().tag(7, WireType.LengthDelimited).bytes(new Uint8Array(listItems)).finish();
    const snapshot = new BinaryWriter()
      .tag(1, WireType.Varint)
      .int64(1000)
      .tag(3, WireType.LengthDelimited)
      .bytes(object);
    const emptyObjects = Buffer.alloc(200_000, Buffer.from([0x1a, 0]));
    const content = Buffer.concat([snapshot.finish(), emptyObjects]);
    const frame = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(content).finish();
    const before = process.memoryUsage().rss;
    expect(read(fileWith(good, block(framed(frame))))).toEqual([snapshotAt(1000)]);
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 26);
  });

  test("[CZ-D-RECORD-4] does not read a file again for each of its headers with a wrong checksum", () => {
    const file = new Uint8Array(2 ** 18);
    file.set(fileMagic);
    const view = new DataView(file.buffer);
    for (let at = fileMagic.length; at + headerLength <= file.length; at += headerLength) {
      view.setUint32(at, marker, true);
      view.setUint32(at + 16, file.length - at - headerLength, true);
    }
    let checkedBytes = 0;
    const { runs, damagedBytes } = scanRecording({
      size: file.length,
      readAt: (position, length) => file.subarray(position, position + length),
      crc32(bytes) {
        checkedBytes += bytes.length;
        return 1;
      },
    });
    expect(runs).toEqual([]);
    expect(damagedBytes).toBe(file.length - fileMagic.length);
    expect(checkedBytes).toBeLessThan(2 ** 28 + 2 * file.length);
  });

  test("[CZ-D-RECORD-9] refuses a file of another version of the format, and says what to do", async () => {
    const bytes = Buffer.concat([fileMagic, good]);
    const path = newPath();
    for (const [version, advice] of [
      [(fileMagic[5] ?? 0) + 1, /Install the latest version of Wirescope/],
      [1, /Read it with the version of Wirescope that wrote it, or record again/],
    ] as const) {
      bytes[5] = version;
      writeFileSync(path, bytes);
      expect(() => openRecording(path)).toThrow(advice);
      await expect(readRecording(bytes)).rejects.toThrow(advice);
      expect(() => createRecording(path, { append: true })).toThrow(advice);
    }
    expect(readFileSync(path)).toEqual(bytes);
  });

  test("[CZ-D-RECORD-4] leaves out times that no date has, and times that go back", async () => {
    const frameAt = (timeMs: number): Uint8Array => {
      const snapshot = create(SnapshotSchema, { ...encodeSnapshot(snapshotAt(1000)), timeMs: BigInt(timeMs) });
      return framed(toBinary(FrameSchema, create(FrameSchema, { content: { case: "snapshot", value: snapshot } })));
    };
    // The last of two values of a field counts.
    const twice = (timeMs: number): Uint8Array => {
      const time = new BinaryWriter().tag(1, WireType.Varint).int64(String(timeMs)).finish();
      const value = toBinary(SnapshotSchema, encodeSnapshot(snapshotAt(1000)));
      const content = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(Buffer.concat([value, time]));
      return framed(content.finish());
    };
    const begin = { beginsRun: true, before: new Uint8Array() };
    for (const hostile of [
      encodeBlock(frameAt(2 ** 60), { ...begin, firstMs: 2 ** 60 }),
      encodeBlock(frameAt(2 ** 60), { ...begin, firstMs: 2000 }),
      encodeBlock(frameAt(-5), { ...begin, firstMs: 2000 }),
      encodeBlock(frameAt(3000), { ...begin, firstMs: 2000 }),
      encodeBlock(twice(2 ** 60), { ...begin, firstMs: 1000 }),
    ]) {
      expect(await readBoth(fileWith(good, hostile))).toEqual([snapshotAt(1000)]);
    }
    const backwards = Buffer.concat([2000, 3000, 1500].map(frameAt));
    const found = await readBoth(fileWith(encodeBlock(backwards, { ...begin, firstMs: 2000 })));
    expect(found.map(({ timeMs }) => timeMs)).toEqual([2000, 3000]);
  });

  test("[CZ-D-RECORD-4] refuses a name of a process that makes every key long", () => {
    const named = createSnapshot({
      ...snapshotAt(2000),
      origins: [{ name: "x".repeat(2000), target: "" }],
      objects: [],
    });
    const hostile = encodeBlock(framed(toBinary(FrameSchema, snapshotFrame(named))), {
      beginsRun: true,
      firstMs: 2000,
      before: new Uint8Array(),
    });
    expect(read(fileWith(good, hostile))).toEqual([snapshotAt(1000)]);
  });

  test("[CZ-D-RECORD-4] does not visit all objects again for any number of small frames", () => {
    const frames = Array.from({ length: 50 }, (_, index) => {
      const [before, after] = [snapshotAt(1000 + index), snapshotAt(1001 + index)];
      const frame = index === 0 ? snapshotFrame(after) : deltaFrame(before, diffSnapshots(before, after));
      return { timeMs: after.timeMs, bytes: toBinary(FrameSchema, frame) };
    });
    expect([...snapshotsOf({ frames })]).toHaveLength(50);
    expect([...snapshotsOf({ frames }, 20)]).toHaveLength(20);
  });

  test("[CZ-D-RECORD-4] reads random changes of bytes in a block whose checksum is right without any error but its own", async () => {
    const raws = seconds.map((snapshot, index) => {
      const before = seconds[index - 1];
      const frame =
        before === undefined ? snapshotFrame(snapshot) : deltaFrame(before, diffSnapshots(before, snapshot));
      return framed(toBinary(FrameSchema, frame));
    });
    const raw = Buffer.concat(raws);
    const change = fc.record({ position: fc.nat(raw.length - 1), byte: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const changed = Buffer.from(raw);
        for (const { position, byte } of changes) changed[position] = byte;
        const path = fileWith(block(changed));
        let recording: ReturnType<typeof openRecording>;
        try {
          recording = openRecording(path);
        } catch (error) {
          expect(error).toEqual(new TypeError("The recording contains no readable snapshot."));
          return;
        }
        const found = read(path);
        const times = found.map(({ timeMs }) => timeMs);
        const { timeline } = await readRecording(readFileSync(path));
        expect([...timeline.snapshots()].map(({ timeMs }) => timeMs)).toEqual(times);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        for (const timeMs of times) {
          expect(new Date(timeMs).toISOString()).toBeTypeOf("string");
          expect(recording.at(timeMs)?.timeMs).toBe(timeMs);
        }
        expect(recording.newest()).toEqual(found.at(-1));
        expect(recording.changes()).toBeInstanceOf(Array);
        recording.close();
        rmSync(path);
      }),
      { numRuns: 100 },
    );
  });

  test("survives random bytes in blocks whose checksum is right", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (raw) => {
        const path = fileWith(good, block(framed(raw)));
        const recording = openRecording(path);
        expect(recording.range()?.firstMs).toBe(1000);
        recording.close();
        rmSync(path);
      }),
      { numRuns: 200 },
    );
  });
});
