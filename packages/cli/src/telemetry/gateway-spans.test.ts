import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { describe, expect, test, vi } from "vitest";
import { canary, pollOptions, startFollowed } from "./followed-gateway.test.helper.js";

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";
const traceparent = `00-${trace}-${parent}-01`;
const forecast = { name: "weather__forecast", arguments: { city: canary } };

const facts = ({ name, kind, attributes, status }: ReadableSpan): object => ({ name, kind, attributes, ...status });

describe("a call through a gateway with telemetry", () => {
  test("creates a server span below the client's span and a client span below that, and propagates it to the server", async () => {
    const { send, spans, received } = await startFollowed();
    const { result } = await send("tools/call", { ...forecast, _meta: { traceparent, tracestate: "a=1" } });
    expect(result.content[0].text).toBe("sunny");
    const [upstream, call, ...more] = spans();
    expect(more).toEqual([]);
    expect(facts(call as ReadableSpan)).toEqual({
      name: "tools/call weather__forecast",
      kind: SpanKind.SERVER,
      code: SpanStatusCode.UNSET,
      attributes: {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather__forecast",
        "jsonrpc.request.id": "1",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "wirescope.client": "test 1.0.0",
        "wirescope.outcome": "ok",
        "wirescope.server": "weather",
      },
    });
    expect(facts(upstream as ReadableSpan)).toEqual({
      name: "tools/call forecast",
      kind: SpanKind.CLIENT,
      code: SpanStatusCode.UNSET,
      attributes: {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "forecast",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "server.address": "127.0.0.1",
        "server.port": expect.any(Number),
        "wirescope.server": "weather",
      },
    });
    expect(call?.spanContext().traceId).toBe(trace);
    expect(call?.parentSpanContext).toMatchObject({ traceId: trace, spanId: parent, isRemote: true });
    expect(upstream?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
    const sent = `00-${trace}-${upstream?.spanContext().spanId}-01`;
    const last = received.at(-1);
    expect(last?.body.params._meta).toMatchObject({ traceparent: sent, tracestate: "a=1" });
    expect(last?.headers).toMatchObject({ traceparent: sent, tracestate: "a=1" });
  });

  test("uses the parent that the headers name, or links to it if _meta names another parent", async () => {
    const { send, spans } = await startFollowed();
    const headerTraceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
    await send("tools/call", forecast, { traceparent: headerTraceparent });
    await send("tools/call", { ...forecast, _meta: { traceparent } }, { traceparent: headerTraceparent });
    const [first, second] = spans().filter(({ kind }) => kind === SpanKind.SERVER);
    expect(first?.parentSpanContext?.spanId).toBe("2".repeat(16));
    expect(first?.links).toEqual([]);
    expect(second?.parentSpanContext?.spanId).toBe(parent);
    expect(second?.links.map(({ context }) => context.spanId)).toEqual(["2".repeat(16)]);
  });

  test("starts a trace if the client names none, and follows the sampling decision of the client", async () => {
    const { send, spans, received } = await startFollowed();
    await send("tools/call", forecast);
    expect(spans().at(-1)?.parentSpanContext).toBeUndefined();
    const count = spans().length;
    await send("tools/call", { ...forecast, _meta: { traceparent: traceparent.replace(/01$/, "00") } });
    expect(spans()).toHaveLength(count);
    expect(received.at(-1)?.body.params._meta.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`));
  });

  test("records the type of an error", async () => {
    const { send, spans } = await startFollowed();
    const errorOf = (): unknown[] => {
      const { attributes, status } = spans().at(-1) as ReadableSpan;
      return [status.code, attributes["error.type"], attributes["rpc.response.status_code"]];
    };
    await send("tools/call", { name: "weather__fail", arguments: { city: canary } });
    expect(errorOf()).toEqual([SpanStatusCode.ERROR, "tool_error", undefined]);
    expect(spans().at(-2)?.attributes["error.type"]).toBe("tool_error");
    await send("tools/call", { name: "absent__tool", arguments: {} });
    expect(errorOf()).toEqual([SpanStatusCode.ERROR, "-32000", "-32000"]);
    await send("resources/read", { uri: `file:///${canary}` }, { "mcp-name": `file:///${canary}` });
    expect(errorOf()).toEqual([SpanStatusCode.ERROR, "-32602", "-32602"]);
  });

  test("records a cancelled call as cancelled", async () => {
    const { gateway, spans, send } = await startFollowed();
    void send("tools/call", { name: "weather__slow", arguments: { city: canary } }).catch(() => {});
    await vi.waitFor(() => expect(gateway.servers()[0]?.callsInFlight).toBe(1), pollOptions);
    await gateway.close({ graceMs: 0 });
    expect(spans().map(({ attributes }) => attributes["error.type"])).toEqual(["CALL_CANCELLED", "-32000"]);
  });

  test("uses one span name for all unknown methods of clients", async () => {
    const { send, spans, metric } = await startFollowed();
    await send("tools/call", { name: `weather__${canary}`, arguments: {} });
    await send("tools/call", { name: `${canary}-too`, arguments: {} });
    expect(spans().map(({ name, attributes }) => [name, attributes["gen_ai.tool.name"]])).toEqual([
      ["tools/call", "_OTHER"],
      ["tools/call", "_OTHER"],
    ]);
    expect([...(await metric("mcp.server.operation.duration")).values()]).toMatchObject([{ count: 2 }]);
  });

  test("records no arguments, results or URIs in spans and metrics", async () => {
    const { send, spans, metric, gateway } = await startFollowed();
    await send("tools/call", forecast);
    await send("tools/call", { name: "weather__fail", arguments: { city: canary } });
    await send("tools/call", { name: `weather__${canary}`, arguments: { city: canary } });
    await send("tools/call", { name: "weather__forecast", arguments: { [canary]: 1 } });
    await send("resources/read", { uri: `file:///${canary}` }, { "mcp-name": `file:///${canary}` });
    const exported = spans().map(({ name, attributes, events, links, status }) => ({
      name,
      attributes,
      events,
      links,
      status,
    }));
    expect(exported.length).toBeGreaterThanOrEqual(7);
    const numbers = await Promise.all(["wirescope.gateway.calls", "mcp.client.operation.duration"].map(metric));
    const text = JSON.stringify([exported, numbers.map((points) => [...points.keys()])]);
    expect(text).not.toContain(canary);
    expect(text).not.toContain(gateway.token);
  });
});

test("records each connection attempt to a server as a span with its outcome", async () => {
  const { connects } = await startFollowed();
  const ends = (server: string): unknown[] =>
    connects()
      .filter(({ attributes }) => attributes["wirescope.server"] === server)
      .map(({ attributes, status }) => [attributes["wirescope.state"], attributes["error.type"], status.code]);
  expect(ends("weather")).toEqual([["READY", undefined, SpanStatusCode.UNSET]]);
  await vi.waitFor(() => {
    expect(ends("absent")[0]).toEqual(["TRANSIENT_FAILURE", "SERVER_UNREACHABLE", SpanStatusCode.ERROR]);
  }, pollOptions);
});

describe("the metrics of a gateway with telemetry", () => {
  test("reports the same numbers as Prometheus reads", async () => {
    const { send, metric, gateway } = await startFollowed();
    await send("tools/call", forecast);
    await send("tools/call", forecast);
    await send("tools/call", { name: "weather__fail", arguments: { city: canary } });
    const at = { "mcp.method.name": "tools/call", "wirescope.server": "weather" };
    const calls = await metric("wirescope.gateway.calls");
    expect(calls.get(JSON.stringify({ ...at, "wirescope.outcome": "ok" }))).toBe(2);
    expect(calls.get(JSON.stringify({ ...at, "wirescope.outcome": "tool-error" }))).toBe(1);
    const headers = { authorization: `Bearer ${gateway.token}` };
    const page = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
    expect(page).toContain('calls_total{method="tools/call",server="weather",outcome="ok"} 2\n');
    const states = await metric("wirescope.gateway.server_state");
    expect(states.get(JSON.stringify({ "wirescope.server": "weather", "wirescope.state": "READY" }))).toBe(1);
    expect((await metric("wirescope.gateway.server_tools")).get('{"wirescope.server":"weather"}')).toBe(3);
    expect((await metric("process.memory.usage")).get("{}")).toBeGreaterThan(1e6);
    for (const name of ["mcp.server.operation.duration", "mcp.client.operation.duration"]) {
      const counts = [...(await metric(name)).values()].map((value) => (value as { count: number }).count);
      expect(counts.sort(), name).toEqual([1, 2]);
    }
  });

  test("reports metrics until the gateway has closed, and collects none after that", async () => {
    const uptime = async (): Promise<unknown> => (await followed.metric("process.uptime")).get("{}");
    let exported: unknown;
    const flush = async (): Promise<void> => {
      exported = (await followed.metric("wirescope.gateway.calls")).size;
    };
    const followed = await startFollowed({ flush });
    await followed.send("tools/call", forecast);
    expect(await uptime()).not.toBe(await uptime());
    await followed.close();
    expect(exported).toBe(1);
    expect(await uptime()).toBe(await uptime());
  });
});
