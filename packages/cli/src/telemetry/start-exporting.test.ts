import { ExportResultCode } from "@opentelemetry/core";
import { expect, test } from "vitest";
import { createExportLog, watchExports } from "./start-exporting.js";

const url = "https://user:passw0rd@collector:4318/v1/traces?key=s3cret";

const reportOf = (error: Error | undefined): string => {
  const said: string[] = [];
  const logResult = createExportLog((text) => void said.push(text));
  const result = { code: ExportResultCode.FAILED, ...(error && { error }) };
  logResult("traces", url, result);
  logResult("metrics", url.replace("traces", "metrics"), result);
  expect(said).toHaveLength(1);
  return said[0] ?? "";
};

test.each([
  [Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), ": ECONNREFUSED. ", "Start the collector"],
  [Object.assign(new Error("Unauthorized"), { code: 401 }), ": it responded 401. ", "OTEL_EXPORTER_OTLP_HEADERS"],
  [Object.assign(new Error("Not found"), { code: 404 }), ": it responded 404. ", "the path of"],
  [Object.assign(new Error("Found"), { code: 302 }), ": it responded 302. ", "the address that it redirects to"],
  [Object.assign(new Error("Bad"), { code: 400 }), ": it responded 400. ", "See the log of the collector."],
  [Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }), ": DEPTH_", "OTLP_CERTIFICATE"],
  [
    new Error("Export failed with retryable status"),
    ": it is overloaded or unavailable",
    "See the log of the collector.",
  ],
  [new Error("Request timed out"), ": it did not respond in time. ", "Start the collector"],
  [undefined, ": the export failed. ", "Start the collector"],
])("reports a failed export once per collector, with advice: %s", (error, reason, advice) => {
  const said = reportOf(error);
  expect(said).toContain(`Cannot export traces to "https://collector:4318/v1/traces"${reason}`);
  expect(said).toContain(advice);
  expect(said).toMatch(/\.$/);
});

test("does not log the response of a collector or the secrets of its URL", () => {
  const said = reportOf(Object.assign(new Error("echo of s3cret"), { code: 500, data: "s3cret" }));
  expect(said).not.toMatch(/s3cret|passw0rd/);
});

test("reports a failure again after the exports worked, at most once an hour, and not while another signal still fails", () => {
  const said: string[] = [];
  let now = 0;
  const logResult = createExportLog(
    (text) => void said.push(text),
    () => now,
  );
  const metricsUrl = url.replace("traces", "metrics");
  const failed = { code: ExportResultCode.FAILED };
  const done = { code: ExportResultCode.SUCCESS };
  logResult("traces", url, failed);
  now += 3_600_000;
  logResult("traces", url, failed);
  logResult("metrics", metricsUrl, done);
  logResult("metrics", metricsUrl, failed);
  expect(said).toHaveLength(1);
  logResult("traces", url, done);
  logResult("metrics", metricsUrl, done);
  logResult("traces", url, failed);
  expect(said).toHaveLength(2);
  now += 3_599_999;
  logResult("traces", url, done);
  logResult("traces", url, failed);
  expect(said).toHaveLength(2);
  now += 1;
  logResult("traces", url, failed);
  expect(said).toHaveLength(3);
});

test("returns the same results as the exporter it watches", () => {
  const results = [{ code: ExportResultCode.SUCCESS }, { code: ExportResultCode.FAILED, error: new Error("no") }];
  const exporter = {
    export: (item: number, done: (result: (typeof results)[number]) => void) =>
      done(results[item] ?? { code: ExportResultCode.FAILED }),
  };
  const reported: unknown[] = [];
  const watchedResults: unknown[] = [];
  const watched = watchExports(exporter, (result) => void watchedResults.push(result));
  watched.export(0, (result) => reported.push(result));
  watched.export(1, (result) => reported.push(result));
  expect(reported).toEqual(results);
  expect(watchedResults).toEqual(results);
});
