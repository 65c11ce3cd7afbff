import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createUserFolder, startGateway } from "./command.test.helper.js";

const eventually = { timeout: 60_000, interval: 50 };

test("reports on standard error that telemetry cannot be exported if the log is off", async () => {
  const user = createUserFolder();
  user.configure({});
  const gateway = await startGateway(["--port", "0", "--log", "off", "--config", user.file], {
    env: {
      PATH: process.env.PATH,
      HOME: user.home,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://127.0.0.1:1/v1/metrics",
      OTEL_METRIC_EXPORT_INTERVAL: "100",
      OTEL_EXPORTER_OTLP_TIMEOUT: "100",
    },
  });
  await vi.waitFor(() => expect(gateway.stderr).toContain("wirescope: Cannot export metrics to "), eventually);
});

test("shuts down on SIGHUP as on SIGTERM, also if it is sent twice, and removes its file", async () => {
  const user = createUserFolder();
  user.configure({});
  const gateway = await startGateway(["--port", "0", "--config", user.file], {
    env: { PATH: process.env.PATH, HOME: user.home },
  });
  const folder = join(user.home, ".local", "state", "wirescope", "gateways");
  expect(readdirSync(folder)).toHaveLength(1);
  gateway.process.kill("SIGHUP");
  gateway.process.kill("SIGHUP");
  expect(await gateway.ended).toBe(0);
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
});
