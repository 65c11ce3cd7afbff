import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import type { GatewayTelemetry } from "@wirescope/gateway";
import { expect, onTestFinished, test, vi } from "vitest";
import { type FollowedGateway, pollOptions, startFollowed } from "./followed-gateway.test.helper.js";

interface Guarded extends FollowedGateway {
  /** The next call is refused. */
  refuse(): void;
}

/** A gateway with telemetry, and a server whose headers come from a helper. */
async function startGuarded(telemetry: GatewayTelemetry = {}): Promise<Guarded> {
  let isRefused = false;
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: "guarded", version: "1.0.0" });
      server.registerTool("work", {}, () => ({ content: [{ type: "text", text: "done" }] }));
      return server;
    },
    { legacy: "reject" },
  );
  const handle = toNodeHandler(handler) as unknown as RequestListener;
  const server = createServer((request, response) => {
    if (!isRefused || request.headers["mcp-method"] !== "tools/call") return handle(request, response);
    isRefused = false;
    return response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const folder = await mkdtemp(join(tmpdir(), "wirescope-helper-"));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await handler.close();
    await rm(folder, { recursive: true });
  });
  const headersHelper = join(folder, "helper.sh");
  await writeFile(headersHelper, `#!/bin/sh\necho '{"Authorization": "Bearer canary-of-the-helper"}'\n`, {
    mode: 0o755,
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const followed = await startFollowed(telemetry, { guarded: { type: "http", url, headersHelper } });
  await vi.waitFor(() => expect(followed.gateway.servers()[2]?.tools).toBe(1), pollOptions);
  return { ...followed, refuse: () => (isRefused = true) };
}

const work = { name: "guarded__work", arguments: {} };

test("records a helper run as a span, below the call if a refused call caused it", async () => {
  const { send, spans, refuse } = await startGuarded();
  const runs = () => spans().filter(({ name }) => name === "wirescope.helper");
  expect(runs().map(({ attributes, parentSpanContext }) => [attributes["wirescope.cause"], parentSpanContext])).toEqual(
    [["first", undefined]],
  );
  refuse();
  expect((await send("tools/call", work)).result.content[0].text).toBe("done");
  const [, run, ...more] = runs();
  expect(more).toEqual([]);
  const clientSpan = spans().find(({ name, kind }) => name === "tools/call work" && kind === SpanKind.CLIENT);
  expect(run?.parentSpanContext?.spanId).toBe(clientSpan?.spanContext().spanId);
  expect(run).toMatchObject({
    kind: SpanKind.INTERNAL,
    status: { code: SpanStatusCode.UNSET },
    attributes: { "wirescope.server": "guarded", "wirescope.cause": "refusal", "wirescope.outcome": "done" },
  });
  expect(clientSpan?.links).toEqual([]);
  expect(clientSpan?.events.map(({ name, attributes: facts }) => [name, facts?.["wirescope.operation"]])).toEqual([
    ["wirescope.credential.started", "helper"],
    ["wirescope.credential.ended", "helper"],
  ]);
  const exported = spans().map(({ name, attributes, events, links }) => ({ name, attributes, events, links }));
  expect(JSON.stringify(exported)).not.toContain("canary");
});

test("runs a helper even if the span processor throws", async () => {
  for (const moment of ["onStart", "onEnd"] as const) {
    const fail = (): never => {
      throw new Error("This is the application's.");
    };
    const good = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [{ ...good, [moment]: fail }] });
    const { send, refuse } = await startGuarded({ tracerProvider });
    refuse();
    expect((await send("tools/call", work)).result.content[0].text, moment).toBe("done");
  }
});

test.each([
  ["with spans", {}],
  ["without spans", { tracerProvider: false } as const],
])(
  "reports the duration of helper runs by server and outcome, and their number to Prometheus: %s",
  async (_, telemetry) => {
    const { send, metric, refuse, gateway } = await startGuarded(telemetry);
    refuse();
    await send("tools/call", work);
    const durations = [...(await metric("wirescope.credential.operation.duration"))];
    expect(
      durations.map(([attributes, value]) => [JSON.parse(attributes), (value as { count: number }).count]),
    ).toEqual(
      ["first", "refusal"].map((cause) => [
        {
          "wirescope.server": "guarded",
          "wirescope.operation": "helper",
          "wirescope.cause": cause,
          "wirescope.outcome": "done",
        },
        1,
      ]),
    );
    const counts = await metric("wirescope.gateway.credential_operations");
    expect([...counts]).toEqual([
      [
        JSON.stringify({ "wirescope.server": "guarded", "wirescope.operation": "helper", "wirescope.outcome": "done" }),
        2,
      ],
    ]);
    const headers = { authorization: `Bearer ${gateway.token}` };
    const page = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
    expect(page).toContain('credential_operations_total{server="guarded",operation="helper",outcome="done"} 2\n');
  },
);
