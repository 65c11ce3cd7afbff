import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { type CollectedSpan, startCollector } from "./otlp-collector.test.helper.js";

const program = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));
const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";
const pollOptions = { timeout: 60_000, interval: 20 };

/** Prints at exit how many OpenTelemetry modules were loaded. */
const countModules = `data:text/javascript,${encodeURIComponent(`
import Module from "node:module";
process.on("exit", () => {
  const loaded = Object.keys(Module._cache).filter((path) => path.includes("@opentelemetry"));
  process.stderr.write("[[" + loaded.length + " modules]]");
});`)}`;

/** A legacy stdio server whose tool returns the trace context that it received. */
const pipedServer = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const results = {
    initialize: () => ({
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "piped", version: "1.0.0" },
    }),
    "tools/list": () => ({ tools: [{ name: "trace", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text: String(params._meta?.traceparent) }] }),
  };
  if (id === undefined) return;
  const outcome = results[method] ? { result: results[method]() } : { error: { code: -32601, message: "No method" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }) + "\\n");
});`;

interface Up {
  readonly process: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | null>;
  readonly endpoint: string;
  readonly token: string;
  readonly said: () => string;
}

/** `wirescope up` with a modern HTTP server and a legacy stdio server, until the test ends. */
async function up(env: Readonly<Record<string, string>>): Promise<Up> {
  const folder = await mkdtemp(join(tmpdir(), "wirescope-telemetry-"));
  const config = join(folder, "mcp.json");
  const mcpServers = {
    web: { type: "http", url: await serveTrace() },
    piped: { command: process.execPath, args: ["-e", pipedServer] },
  };
  await writeFile(config, JSON.stringify({ mcpServers }));
  const options = ["--config", config, "--trust", "--allow-insecure-loopback", "--vault", "memory", "--port", "0"];
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("OTEL_"));
  const child = spawn(
    process.execPath,
    ["--import", countModules, program, "up", "--json", "--print-token", ...options],
    {
      env: { ...Object.fromEntries(others), HOME: folder, XDG_RUNTIME_DIR: folder, ...env },
    },
  );
  const ended = once(child, "close").then(([code]) => code as number | null);
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const [line] = await Promise.race([
    once(child.stdout, "data"),
    ended.then((code) => Promise.reject(new Error(`It ended with ${code}: ${said}`))),
  ]);
  const { endpoint, token } = JSON.parse(String(line));
  return { process: child, ended, endpoint, token, said: () => said };
}

/** A modern server whose tool returns the trace context that it received. */
async function serveTrace(): Promise<string> {
  const make = (): McpServer => {
    const server = new McpServer({ name: "web", version: "1.0.0" });
    server.registerTool("trace", {}, ({ mcpReq }) => ({
      content: [{ type: "text", text: String(mcpReq._meta?.traceparent) }],
    }));
    return server;
  };
  const handler = createMcpHandler(make, { legacy: "reject" });
  const server = createServer(toNodeHandler(handler) as unknown as RequestListener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await handler.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** Calls a tool with a client of the SDK that names its trace; returns what the server received. */
async function call({ endpoint, token }: Up, mode: "auto" | "legacy", name: string): Promise<string> {
  const client = new Client({ name: "e2e", version: "1.0.0" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }));
  try {
    const _meta = { traceparent: `00-${trace}-${parent}-01` };
    const { content } = await client.callTool({ name, arguments: {}, _meta });
    return (content as { text: string }[])[0]?.text ?? "";
  } finally {
    await client.close();
  }
}

const modulesOf = ({ said }: Up): number => Number(/\[\[(\d+) modules\]\]/.exec(said())?.[1]);

test("exports one trace from the client through the gateway to servers of each era", async () => {
  const collector = await startCollector();
  const gateway = await up({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=s3cret-of-the-collector",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_METRIC_EXPORT_INTERVAL: "3600000",
  });
  const received: Record<string, string> = {};
  for (const mode of ["auto", "legacy"] as const) {
    for (const name of ["web__trace", "piped__trace"]) received[`${mode} ${name}`] = await call(gateway, mode, name);
  }
  await vi.waitFor(() => expect(collector.spans.filter(({ trace: id }) => id === trace)).toHaveLength(8), pollOptions);
  const spans = collector.spans.filter(({ trace: id }) => id === trace);
  for (const [which, traceparent] of Object.entries(received)) {
    const upstream = spans.find(({ id }) => traceparent === `00-${trace}-${id}-01`);
    expect(upstream, which).toMatchObject({ name: "tools/call trace", kind: 3 });
    const server = spans.find(({ id }) => id === upstream?.parent) as CollectedSpan;
    expect(server, which).toMatchObject({ name: `tools/call ${which.split(" ")[1]}`, kind: 2, parent });
    expect(server.resource).toMatchObject({ "service.name": "wirescope", "deployment.environment.name": "test" });
  }
  expect(collector.headers[0]).toMatchObject({ "x-api-key": "s3cret-of-the-collector" });

  // The next export is in an hour; stopping sends the metrics.
  expect(collector.metrics.size).toBe(0);
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
  expect([...collector.metrics]).toEqual(
    expect.arrayContaining([
      "mcp.server.operation.duration",
      "mcp.client.operation.duration",
      "wirescope.gateway.calls",
      "wirescope.gateway.server_state",
    ]),
  );
  expect(modulesOf(gateway)).toBeGreaterThan(10);
  expect(gateway.said()).not.toContain("s3cret");
});

test("loads no OpenTelemetry module without the variables, and forwards the trace of a client unchanged", async () => {
  const gateway = await up({ OTEL_SERVICE_NAME: "not-enough" });
  for (const name of ["web__trace", "piped__trace"]) {
    expect(await call(gateway, "auto", name)).toBe(`00-${trace}-${parent}-01`);
  }
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
  expect(modulesOf(gateway)).toBe(0);
});

test("fails no call if the collector is unreachable, and reports that once, as well as an unsupported protocol", async () => {
  const gateway = await up({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    OTEL_EXPORTER_OTLP_TIMEOUT: "200",
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "grpc",
    OTEL_BSP_SCHEDULE_DELAY: "10",
  });
  expect(gateway.said()).toContain('wirescope: OTEL_EXPORTER_OTLP_METRICS_PROTOCOL is "grpc", which is not supported.');
  const lines = (): string[] =>
    gateway
      .said()
      .split("\n")
      .filter((line) => line.includes("Cannot export"));
  await vi.waitFor(async () => {
    expect(await call(gateway, "auto", "web__trace")).toMatch(new RegExp(`^00-${trace}-`));
    expect(lines()).toHaveLength(1);
  }, pollOptions);
  // Its process may start late.
  await vi.waitFor(() => call(gateway, "legacy", "piped__trace"), pollOptions);
  for (let count = 0; count < 3; count += 1) await call(gateway, "legacy", "piped__trace");
  expect(JSON.parse(lines()[0] ?? "").reason).toMatch(/127\.0\.0\.1:9.*ECONNREFUSED.*OTEL_EXPORTER_OTLP_ENDPOINT/);
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
  expect(lines()).toHaveLength(1);
});

test("delays the shutdown by a few seconds at most if the collector never responds", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const gateway = await up({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: "50000",
  });
  expect(await call(gateway, "auto", "web__trace")).toMatch(new RegExp(`^00-${trace}-`));
  const stoppedAt = performance.now();
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(45_000);
});
