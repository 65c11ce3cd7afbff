import { ExportResultCode } from "@opentelemetry/core";
import { expect, test } from "vitest";
import { createExportFailureLog, watchExports } from "./start-exporting.js";

const url = "https://user:passw0rd@collector:4318/v1/traces?key=s3cret";

const reportOf = (error: Error | undefined): string => {
  const said: string[] = [];
  const logFailure = createExportFailureLog((text) => void said.push(text));
  logFailure("traces", url, error);
  logFailure("metrics", url.replace("traces", "metrics"), error);
  expect(said).toHaveLength(1);
  return said[0] ?? "";
};

test.each([
  [Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), ": ECONNREFUSED. ", "Start the collector"],
  [Object.assign(new Error("Unauthorized"), { code: 401 }), ": it responded 401. ", "OTEL_EXPORTER_OTLP_HEADERS"],
  [Object.assign(new Error("Not found"), { code: 404 }), ": it responded 404. ", "the path of"],
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

test("returns the same results as the exporter it watches", () => {
  const failures: unknown[] = [];
  const results = [{ code: ExportResultCode.SUCCESS }, { code: ExportResultCode.FAILED, error: new Error("no") }];
  const exporter = {
    export: (item: number, done: (result: (typeof results)[number]) => void) =>
      done(results[item] ?? { code: ExportResultCode.FAILED }),
  };
  const reported: unknown[] = [];
  const watched = watchExports(exporter, (error) => void failures.push(error));
  watched.export(0, (result) => reported.push(result));
  watched.export(1, (result) => reported.push(result));
  expect(reported).toEqual(results);
  expect(failures).toEqual([results[1]?.error]);
});
