import { metrics, ProxyTracerProvider, type TracerProvider, trace } from "@opentelemetry/api";
import { afterEach, expect, test } from "vitest";
import { createTraceFieldReader } from "../../trace-fields.js";
import { startTelemetry } from "./start-telemetry.js";

const open = (telemetry: Parameters<typeof startTelemetry>[0]["telemetry"]): ReturnType<typeof startTelemetry> =>
  startTelemetry({ telemetry, reader: createTraceFieldReader(["tracecontext"]), transport: "tcp" });

/** A provider that the API did not create. */
const provider: TracerProvider = { getTracer: (name) => new ProxyTracerProvider().getTracer(name) };

afterEach(() => {
  trace.disable();
  metrics.disable();
});

test("records nothing without a provider", async () => {
  expect(await open({})).toBeUndefined();
  expect(await open({ tracerProvider: false, meterProvider: false })).toBeUndefined();
});

test("records nothing if the application used the API but has set no provider", async () => {
  trace.setGlobalTracerProvider(provider);
  trace.disable();
  expect(await open({})).toBeUndefined();
});

test("records requests with a given provider, or with the global one", async () => {
  expect(await open({ tracerProvider: provider })).toBeDefined();
  trace.setGlobalTracerProvider(provider);
  const found = await open({});
  expect(found).toBeDefined();
  await found?.close();
  expect(await open({ tracerProvider: false })).toBeUndefined();
});
