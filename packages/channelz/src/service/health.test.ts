import { Code, createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from "../gen/grpc/health/v1/health_pb.js";
import { createHealth } from "./health.js";
import { healthRoutes } from "./health-routes.js";

const clientOf = (health: ReturnType<typeof createHealth>) =>
  createClient(HealthService, createRouterTransport(healthRoutes(health)));

test("[CZ-D-TOOLS-2] returns the status of the server and of each service for Check, and NOT_FOUND for an unknown service", async () => {
  const health = createHealth();
  health.set("a.B", "NOT_SERVING");
  const client = clientOf(health);
  expect((await client.check({})).status).toBe(Status.SERVING);
  expect((await client.check({ service: "a.B" })).status).toBe(Status.NOT_SERVING);
  await expect(client.check({ service: "a.C" })).rejects.toMatchObject({ code: Code.NotFound });
});

test("returns every service for List", async () => {
  const health = createHealth();
  health.set("a.B", "SERVING");
  const { statuses } = await clientOf(health).list({});
  expect(Object.keys(statuses).sort()).toEqual(["", "a.B"]);
});

test("emits SERVICE_UNKNOWN for Watch, then each change once, and ends after the shutdown", async () => {
  const health = createHealth();
  const seen: number[] = [];
  for await (const { status } of clientOf(health).watch({ service: "a.B" })) {
    seen.push(status);
    if (status === Status.SERVICE_UNKNOWN) {
      health.set("a.B", "SERVING");
      health.set("a.B", "SERVING");
    } else if (status === Status.SERVING) {
      health.shutdown();
    }
  }
  expect(seen).toEqual([Status.SERVICE_UNKNOWN, Status.SERVING, Status.NOT_SERVING]);
  health.set("a.B", "SERVING");
  expect(health.get("a.B")).toBe("NOT_SERVING");
});

test("refuses a watcher above the limit, and accepts one after another has left", async () => {
  const health = createHealth({ maxWatchers: 1 });
  const leaving = new AbortController();
  const first = health.watch("", leaving.signal)[Symbol.asyncIterator]();
  expect((await first.next()).value).toBe("SERVING");
  const refused = async (): Promise<void> => {
    for await (const _ of clientOf(health).watch({})) return;
  };
  await expect(refused()).rejects.toMatchObject({ code: Code.ResourceExhausted });
  const waiting = first.next();
  leaving.abort();
  expect((await waiting).done).toBe(true);
  await refused();
});
