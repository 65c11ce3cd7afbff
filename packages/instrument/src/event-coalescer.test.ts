import { timestampMs } from "@bufbuild/protobuf/wkt";
import { createRegistry } from "@wirescope/channelz";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventCoalescer } from "./event-coalescer.js";
import { collectWarnings } from "./warnings.test.helper.js";

let reported: string[];
let times: (number | undefined)[];
let coalescer: EventCoalescer;

beforeEach(() => {
  vi.useFakeTimers();
  reported = [];
  times = [];
  const tracer: ConstructorParameters<typeof EventCoalescer>[0] = {
    trace(description, options) {
      reported.push(`${options?.severity} ${description}`);
      times.push(options?.timeMs);
    },
    stamp(cells, index) {
      cells[index] = Date.now();
    },
  };
  coalescer = new EventCoalescer(tracer, "Lost");
});

afterEach(() => void vi.useRealTimers());

test("reports the first event at once, and those of the next second together, by cause", () => {
  for (const cause of ["a", "a", "b", "a"]) coalescer.add(cause);
  expect(reported).toEqual(["warning Lost: a"]);
  vi.advanceTimersByTime(1000);
  expect(reported.slice(1)).toEqual([
    "warning Lost, 2 more within a second: a",
    "warning Lost, 1 more within a second: b",
  ]);
  coalescer.add("c");
  expect(reported.at(-1)).toBe("warning Lost: c");
});

test("does not throw from its timer if the events cannot be reported", async () => {
  collectWarnings();
  const failing = new EventCoalescer(
    {
      trace(description) {
        if (description.includes("more")) throw new Error("not reported");
      },
      stamp() {},
    },
    "Lost",
  );
  failing.add("a");
  failing.add("a");
  expect(() => vi.advanceTimersByTime(1000)).not.toThrow();
  // The warning, if it is the first of the process.
  await new Promise<void>((resolve) => process.nextTick(resolve));
});

test("reports a storm of events with different causes in a few events", () => {
  for (let i = 0; i < 1000; i += 1) coalescer.add(`cause ${i}`);
  vi.advanceTimersByTime(1000);
  expect(reported).toHaveLength(1 + 8 + 1);
  expect(reported.at(-1)).toBe("warning Lost, 991 more within a second: other causes");
});

test("[CZ-TRACE-3] reports coalesced events with the time of the last one, by cause", () => {
  const start = Date.now();
  coalescer.add("a");
  vi.advanceTimersByTime(100);
  coalescer.add("a");
  vi.advanceTimersByTime(200);
  coalescer.add("b");
  vi.advanceTimersByTime(300);
  coalescer.add("a");
  vi.advanceTimersByTime(400);
  expect(times).toEqual([undefined, start + 600, start + 300]);
});

test("[CZ-TRACE-3] traces a coalesced event before later events, with the registry's time", async () => {
  let time = 5000;
  const registry = createRegistry({ clock: { now: () => time } });
  const channel = registry.addChannel();
  const resets = new EventCoalescer(channel, "Stream reset");
  resets.add("CANCEL");
  time += 10;
  resets.add("CANCEL");
  time += 20;
  channel.setState("CONNECTING");
  time += 970;
  vi.advanceTimersByTime(1000);
  const { events } = (await registry.getChannel(channel.id)).channel!.data!.trace!;
  expect(events.map(({ description, timestamp }) => [description, timestampMs(timestamp!)]).slice(1)).toEqual([
    ["Stream reset: CANCEL", 5000],
    ["Stream reset, 1 more within a second: CANCEL", 5010],
    ["IDLE -> CONNECTING", 5030],
  ]);
});
