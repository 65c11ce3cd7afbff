import { systemClock } from "@wirescope/tool-server/internal";
import { expect, test } from "vitest";
import { createEvents } from "../events.js";
import { createServerNotifications } from "./server-notifications.js";

test("limits the rate of log messages to all clients, and reports how many messages were dropped", () => {
  let now = 0;
  const received: string[] = [];
  const events = createEvents();
  events.subscribe({ "server-log": ({ params }) => received.push(String(params.data)) });
  const create = (server: string) => {
    const notify = createServerNotifications({
      server,
      events,
      calls: new Set(),
      hasStreamPerCall: () => true,
      tasks: { named: () => undefined, update() {} },
      onListChanged() {},
      clock: { ...systemClock, now: () => now },
    });
    return (data: string) => notify("notifications/message", { level: "info", data }, { call: undefined });
  };
  const [flooding, quiet] = [create("flooding"), create("quiet")];
  const flood = (count: number): number => {
    received.length = 0;
    for (let sent = 0; sent < count; sent += 1) flooding("again");
    return received.filter((data) => data === "again").length;
  };
  expect(flood(1000)).toBe(400);
  quiet("hello");
  expect(received.at(-1)).toBe("hello");
  now += 1000;
  received.length = 0;
  flooding("after");
  flooding("later");
  expect(received).toEqual([expect.stringMatching(/^Dropped 600 log messages from this server/), "after", "later"]);
  expect(flood(1000)).toBe(198);
});

test("limits the rate and the length of extension notifications to all clients [TS-D-EXT-10]", () => {
  const received: unknown[] = [];
  const events = createEvents();
  events.subscribe({ "extension-notification": ({ params }) => received.push(params) });
  const notify = createServerNotifications({
    server: "one",
    events,
    calls: new Set(),
    hasStreamPerCall: () => true,
    tasks: { named: () => undefined, update() {} },
    onListChanged() {},
    clock: { ...systemClock, now: () => 0 },
  });
  const send = (params: object) => notify("notifications/example", { ...params }, { call: undefined });
  send({ text: "x".repeat(70_000) });
  expect(received).toEqual([]);
  for (let sent = 0; sent < 1000; sent += 1) send({});
  expect(received).toHaveLength(400);
});
