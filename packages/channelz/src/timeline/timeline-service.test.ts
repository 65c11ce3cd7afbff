import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { Code, createClient, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChannelSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { TimelineService } from "../gen/wirescope/v1/timeline_pb.js";
import { createObject, createSnapshot, type Snapshot } from "./snapshot.js";
import { createTimeline } from "./timeline.js";
import { createTimelineClient } from "./timeline-client.js";
import { timelineRoutes } from "./timeline-routes.js";

function snapshotAt(timeMs: number, calls: number, name = "orders"): Snapshot {
  const message = create(ChannelSchema, {
    ref: { channelId: 1n, name },
    data: { state: { state: 3 }, callsStarted: BigInt(calls) },
  });
  return createSnapshot({
    timeMs,
    origins: [{ name: "", target: "" }],
    objects: [createObject({ origin: "", kind: "channel", isTop: true, message })],
  });
}

describe("the timeline service", () => {
  const timeline = createTimeline({ keyframeEvery: 4 });
  const cost = { samples: 3, skipped: 1, intervalMs: 1000, lastMs: 2, meanMs: 1.5 };
  const client = createTimelineClient(createRouterTransport(timelineRoutes({ timeline, cost: () => cost })));

  test("reports that the timeline is empty if the newest snapshot is requested before the first", async () => {
    const transport = createRouterTransport(timelineRoutes({ timeline: createTimeline() }));
    await expect(createClient(TimelineService, transport).getSnapshot({})).rejects.toMatchObject({
      code: Code.NotFound,
      rawMessage: expect.stringMatching(/^The timeline has no snapshot yet\./),
    });
  });

  test("sends the newest snapshot, then the changes, and what sampling costs", async () => {
    const updates = client.watch();
    const first = updates.next();
    timeline.append(snapshotAt(1000, 1));
    expect((await first).value).toMatchObject({ snapshot: snapshotAt(1000, 1), delta: undefined, cost });
    timeline.append(snapshotAt(2000, 4));
    const { value } = await updates.next();
    expect(value).toMatchObject({ snapshot: snapshotAt(2000, 4), delta: { fromMs: 1000, toMs: 2000 } });
    expect(value?.delta?.changed[0]?.counters.started).toBe(3);
    await updates.return();
  });

  test("sends at most four updates per second, each with everything since the last", async () => {
    let timeMs = timeline.newest()?.timeMs ?? 0;
    const timer = setInterval(() => {
      timeMs += 10;
      timeline.append(snapshotAt(timeMs, timeMs));
    }, 10);
    const times: number[] = [];
    try {
      for await (const { snapshot } of client.watch()) {
        expect(snapshot).toEqual(timeline.at(snapshot.timeMs));
        times.push(performance.now());
        if (times.length === 4) break;
      }
    } finally {
      clearInterval(timer);
    }
    // Timers of Node may be up to a millisecond early.
    for (const [index, time] of times.slice(1).entries()) expect(time - (times[index] ?? 0)).toBeGreaterThan(245);
  });

  test("gives the snapshot at a time, and nothing for a time before the first", async () => {
    expect(await client.at(1500)).toEqual(snapshotAt(1000, 1));
    expect(await client.at(999)).toBeUndefined();
    const transport = createRouterTransport(timelineRoutes({ timeline }));
    await expect(createClient(TimelineService, transport).getSnapshot({ timeMs: 999n })).rejects.toMatchObject({
      code: Code.NotFound,
      rawMessage: "The timeline has no snapshot that old.",
    });
  });

  test("gives the range, the changes and the series of the history", async () => {
    timeline.append(snapshotAt(900_000, 2));
    const history = await client.history({ lastMs: 2000, series: [{ key: "|channel|1", field: "started" }] });
    expect(history).toMatchObject({
      range: { firstMs: 1000, lastMs: 900_000 },
      hasMoreChanges: false,
      cost,
      series: [
        {
          key: "|channel|1",
          field: "started",
          points: [
            { timeMs: 1000, value: 1 },
            { timeMs: 2000, value: 4 },
          ],
        },
      ],
    });
    const { changes } = await client.history();
    expect(changes).toEqual([
      { timeMs: 900_000, kind: "restarted", key: "|channel|1", name: "orders", text: "Its counters went backwards." },
    ]);
  });

  test("refuses more series than it reads at a time", async () => {
    const series = Array.from({ length: 101 }, () => ({ key: "", field: "started" as const }));
    await expect(client.history({ series })).rejects.toThrow(/100/);
  });

  test("ends without an error if the signal of the caller aborts", async () => {
    const controller = new AbortController();
    const updates = client.watch({ signal: controller.signal });
    await updates.next();
    const next = updates.next();
    controller.abort();
    expect(await next).toMatchObject({ done: true });
  });
});

describe("a watcher that reads slowly", () => {
  const timeline = createTimeline();
  let reads = 0;
  const counting = {
    ...timeline,
    newest: () => {
      reads += 1;
      return timeline.newest();
    },
  };
  let server: Server;
  let baseUrl = "";

  beforeAll(async () => {
    server = createServer(connectNodeAdapter({ routes: timelineRoutes({ timeline: counting }) }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("[CZ-D-HISTORY-10] gets the newest state when it reads again, and nothing queues for it", async () => {
    let timeMs = 1000;
    const append = (name?: string): Snapshot => {
      timeMs += 1000;
      return timeline.append(snapshotAt(timeMs, timeMs, name));
    };
    append();
    const transport = createConnectTransport({ baseUrl, httpVersion: "1.1", acceptCompression: [] });
    const client = createTimelineClient(transport);
    const updates = client.watch();
    await updates.next();
    // An update that is larger than what sockets hold keeps the server from the next.
    append("x".repeat(2 ** 24));
    await expect.poll(() => reads).toBeGreaterThan(1);
    const readsBefore = reads;
    let newest = append();
    for (let number = 1; number < 12; number += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      newest = append();
    }
    // A watcher that reads would have caused four.
    expect(reads - readsBefore).toBeLessThan(3);
    let updatesRead = 0;
    for await (const { snapshot } of updates) {
      updatesRead += 1;
      if (snapshot.timeMs === newest.timeMs) break;
    }
    expect(updatesRead).toBeLessThan(4);
  });
});
