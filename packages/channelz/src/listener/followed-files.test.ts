import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type FollowOptions, followFiles, readFiles } from "./followed-files.js";
import { eventually } from "./raw-caller.test.helper.js";

let folder: string;
let stop: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-files-"));
  mkdirSync(join(folder, "inner"));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const put = (name: string, text: string): void => writeFileSync(join(folder, "inner", name), text);

const files = ["a", "b"].map((name) => ({
  get path() {
    return join(folder, "inner", name);
  },
  unreadable: () => new Error(`${name} cannot be read`),
}));

/** Follows two files that are usable if their contents are equal. */
function follow(more: Partial<FollowOptions> = {}): { taken: string[]; judged: string[]; reported: string[] } {
  const seen = { taken: [] as string[], judged: [] as string[], reported: [] as string[] };
  followFiles({
    files,
    first: readFiles(files),
    apply(contents) {
      const texts = contents.map(String);
      seen.judged.push(texts.join());
      if (new Set(texts).size > 1) throw new Error(`${texts.join(" is not ")}`);
      seen.taken.push(texts.join());
    },
    onUnusable: ({ message }) => seen.reported.push(message),
    signal: stop.signal,
    pace: { recheckMs: 5, reportAfterMs: 30 },
    ...more,
  });
  return seen;
}

/** Sets the time so that files appear to be written long ago. */
const inAnHour = (): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
};

test("uses files that are written one after the other once both are complete, and reports nothing before that", async () => {
  put("a", "1");
  put("b", "1");
  const seen = follow({ pace: { recheckMs: 5, reportAfterMs: 60_000 } });
  put("a", "2");
  await eventually(() => seen.judged.includes("2,1"));
  put("b", "2");
  await eventually(() => seen.taken.length > 0);
  expect(seen.taken).toEqual(["2,2"]);
  expect(seen.reported).toEqual([]);
});

test("reports unusable files once per reason, and checks them again only after a change", async () => {
  put("a", "1");
  put("b", "1");
  inAnHour();
  const seen = follow();
  put("a", "2");
  await eventually(() => seen.reported.length > 0);
  expect(seen.judged).toEqual(["2,1"]);
  put("a", "3");
  await eventually(() => seen.reported.length > 1);
  put("a", "2");
  await eventually(() => seen.judged.length > 2);
  rmSync(join(folder, "inner", "b"));
  await eventually(() => seen.reported.length > 2);
  expect(seen.reported).toEqual(["2 is not 1", "3 is not 1", "b cannot be read"]);
  put("a", "1");
  put("b", "1");
  await eventually(() => seen.taken.length > 0);
  put("a", "2");
  await eventually(() => seen.reported.length > 3);
  expect(seen.reported.at(-1)).toBe("2 is not 1");
});

test("accepts files again that were unreadable for a while and did not change", async () => {
  put("a", "1");
  put("b", "1");
  inAnHour();
  const seen = follow();
  renameSync(join(folder, "inner"), join(folder, "away"));
  await eventually(() => seen.reported.length > 0);
  renameSync(join(folder, "away"), join(folder, "inner"));
  await eventually(() => seen.taken.length > 0);
  expect(seen).toMatchObject({ taken: ["1,1"], reported: [expect.stringMatching(/cannot be read/)] });
});

test("reads recently written files again, because their timestamps may hide a later change", async () => {
  put("a", "1");
  put("b", "1");
  inAnHour();
  const { version } = readFiles(files);
  vi.useRealTimers();
  const contents = ["0", "0"].map((text) => Buffer.from(text));
  const seen = follow({ first: { version, contents, isFollowable: true } });
  await eventually(() => seen.taken.length > 0);
  expect(seen.taken).toEqual(["1,1"]);
});

test("reads nothing after it was stopped", async () => {
  put("a", "1");
  put("b", "1");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const seen = follow();
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(5);
  put("a", "2");
  stop.abort();
  expect(vi.getTimerCount()).toBe(0);
  expect(seen.judged).toEqual([]);
});
