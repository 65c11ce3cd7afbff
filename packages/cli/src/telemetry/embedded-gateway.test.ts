import { PassThrough } from "node:stream";
import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterEach, describe, expect, test } from "vitest";
import { startFollowed } from "./followed-gateway.test.helper.js";

const forecast = { name: "weather__forecast", arguments: { city: "Bern" } };

afterEach(() => {
  trace.disable();
  metrics.disable();
  context.disable();
});

function setGlobal(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  return exporter;
}

describe("a gateway within an application", () => {
  test("sends its spans to the provider that the application registered", async () => {
    const exporter = setGlobal();
    const { send } = await startFollowed({ tracerProvider: undefined, meterProvider: undefined });
    await send("tools/call", forecast);
    const names = exporter.getFinishedSpans().map(({ name }) => name);
    expect(names.filter((name) => name.startsWith("tools"))).toEqual([
      "tools/call forecast",
      "tools/call weather__forecast",
    ]);
  });

  test("creates no spans if telemetry is off or no provider is registered", async () => {
    const exporter = setGlobal();
    const silent = await startFollowed({ tracerProvider: false, meterProvider: false });
    await silent.send("tools/call", forecast);
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect(silent.received.at(-1)?.body.params._meta).not.toHaveProperty("traceparent");
    trace.disable();
    const unset = await startFollowed({ tracerProvider: undefined, meterProvider: undefined });
    await unset.send("tools/call", forecast);
    expect(unset.received.at(-1)?.body.params._meta).not.toHaveProperty("traceparent");
  });

  test("responds even if the span processor throws", async () => {
    for (const moment of ["onStart", "onEnd"] as const) {
      let thrown = 0;
      const fail = (): never => {
        thrown += 1;
        throw new Error("This is the application's.");
      };
      const good = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
      const tracerProvider = new BasicTracerProvider({ spanProcessors: [{ ...good, [moment]: fail }] });
      const { send } = await startFollowed({ tracerProvider });
      expect((await send("tools/call", forecast)).result.content[0].text).toBe("sunny");
      expect(thrown, moment).toBeGreaterThan(1);
    }
  });

  test("uses the active span of the request as parent", async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const exporter = setGlobal();
    const tracer = trace.getTracer("application");
    const { gateway } = await startFollowed({ tracerProvider: undefined, meterProvider: false });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const active = tracer.startSpan("application");
    const responded = new Promise((resolve) => output.once("data", resolve));
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...forecast, _meta } };
    gateway.serveStdio(input, output);
    const line = Buffer.from(`${JSON.stringify(request)}\n`);
    context.with(trace.setSpan(context.active(), active), () => input.emit("data", line));
    await responded;
    const call = exporter.getFinishedSpans().find(({ name }) => name === "tools/call weather__forecast");
    expect(call?.parentSpanContext?.spanId).toBe(active.spanContext().spanId);
    expect(call?.attributes["network.transport"]).toBe("pipe");
    expect(call?.attributes).not.toHaveProperty("network.protocol.name");
  });
});
