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
      tasks: { named: () => undefined, update() {} },
      onListChanged() {},
      now: () => now,
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
  expect(received).toEqual([expect.stringMatching(/^600 log messages of this server were dropped/), "after", "later"]);
  expect(flood(1000)).toBe(198);
});
