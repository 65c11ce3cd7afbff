import { metrics, ProxyTracerProvider, type TracerProvider, trace } from "@opentelemetry/api";
import { systemClock } from "@wirescope/tool-server/internal";
import { afterEach, expect, test } from "vitest";
import { createEvents } from "../../events.js";
import type { GatewayObserver } from "../../gateway-observer.js";
import type { GatewayTelemetry } from "../../telemetry-options.js";
import { createTraceFieldReader } from "../../trace-fields.js";
import { startTelemetry } from "./start-telemetry.js";

const open = (telemetry: GatewayTelemetry): Promise<GatewayObserver | undefined> =>
  startTelemetry({
    telemetry,
    traceFields: createTraceFieldReader(["tracecontext"]),
    transport: "tcp",
    gateway: {
      sessions: () => 0,
      eventStreams: () => 0,
      subscriptions: () => 0,
      parkedCalls: () => 0,
      servers: () => [],
      hasServer: () => false,
      hasConnection: () => false,
    },
    events: createEvents({}),
    clock: systemClock,
    redact: (text) => text,
    objectId: () => undefined,
    metrics: [],
    logsArguments: false,
    capturesBodies: false,
  });

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
  await found?.close?.();
  expect(await open({ tracerProvider: false })).toBeUndefined();
});
