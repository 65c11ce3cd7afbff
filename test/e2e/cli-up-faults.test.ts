import { expect, test, vi } from "vitest";
import { createUserFolder, startGateway } from "./command.test.helper.js";

const eventually = { timeout: 20_000, interval: 50 };

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
