import { createSecretRegistry } from "@wirescope/tool-server";
import { openEntry } from "@wirescope/tool-server/internal";
import { expect, onTestFinished, test } from "vitest";
import { configurationOf, pollOptions } from "../gateway.test.helper.js";
import { serveRaw } from "../raw-server.test.helper.js";
import { createTimersClock } from "../timers.test.helper.js";
import { createServerSubscriptions } from "./server-subscriptions.js";

test("subscribes to a resource of a legacy server again until the server accepts it in the new session", async () => {
  let failures = 0;
  const { entry, seen } = await serveRaw({
    "resources/subscribe"(_, response) {
      if (failures === 0) return "{}";
      failures -= 1;
      response.writeHead(503).end();
      return undefined;
    },
  });
  const configured = configurationOf({ raw: entry });
  const [first] = configured.configuration.entries;
  const { connection } = await openEntry({ ...configured, secrets: createSecretRegistry(), settings: {} }, first!);
  onTestFinished(() => connection.close());
  await connection.connect();
  const clock = createTimersClock();
  const subscriptions = createServerSubscriptions(clock);
  const connected = () => connection;
  subscriptions.attach(connected);
  const sent = () => seen.filter(({ method }) => method === "resources/subscribe").map(({ params }) => params?.uri);
  await subscriptions.subscribe("x:1");
  await subscriptions.subscribe("x:2");
  expect(sent()).toEqual(["x:1", "x:2"]);

  failures = 2;
  subscriptions.renew();
  await expect.poll(() => clock.waiting, pollOptions).toBe(1);
  failures = 1;
  clock.wake();
  await expect.poll(() => clock.waiting, pollOptions).toBe(1);
  clock.wake();
  await expect.poll(() => sent().length, pollOptions).toBe(7);
  expect(sent().slice(2, 6).sort()).toEqual(["x:1", "x:1", "x:2", "x:2"]);
  expect(clock.waiting).toBe(0);

  failures = 2;
  subscriptions.renew();
  await expect.poll(() => clock.waiting, pollOptions).toBe(1);
  subscriptions.detach(connected);
  expect(clock.waiting).toBe(0);
});
