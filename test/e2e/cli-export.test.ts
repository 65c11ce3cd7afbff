import { request } from "node:http";
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { expect, onTestFinished, test } from "vitest";
import { runCommand, startCommand } from "./command.test.helper.js";
import { startCollector } from "./otlp-collector.test.helper.js";
import { untilPrinted } from "./running-process.test.helper.js";

const registry = createRegistry();

async function serve(): Promise<string> {
  const listener = await listenChannelz(registry);
  onTestFinished(() => listener.close());
  return listener.address;
}

/** Starts the command; returns the URL of its metrics. */
async function startExport(...options: string[]): Promise<string> {
  const running = startCommand(["export", "--listen", "127.0.0.1:0", "--interval", "50ms", "--json", ...options]);
  return JSON.parse(await untilPrinted(running, /\n/)).metrics;
}

const read = async (url: string): Promise<string> => (await fetch(url)).text();

test("[CZ-D-EXPORT-1] serves states and counters to Prometheus, and keeps what a closed channel counted", async () => {
  const channel = registry.addChannel({ name: "orders", target: 'dns:///or"ders\n' });
  channel.setState("CONNECTING");
  for (let count = 0; count < 3; count += 1) channel.callStarted();
  channel.callFailed();
  const url = await startExport("--target", `shop=${await serve()}`);
  await expect.poll(() => read(url)).toContain('channelz_channels{process="shop",state="CONNECTING"} 1');
  const name = String.raw`{process="shop",kind="channel",name="dns:///or\"ders\n"}`;
  expect(await read(url)).toContain(`channelz_calls_started_total${name} 3\n`);
  expect(await read(url)).toContain(`channelz_calls_failed_total${name} 1\n`);
  expect(await read(url)).toContain('channelz_up{process="shop"} 1\n');
  channel.callStarted();
  await expect.poll(() => read(url)).toContain(`channelz_calls_started_total${name} 4\n`);
  channel.close();
  await expect.poll(() => read(url)).toContain('channelz_channels{process="shop",state="CONNECTING"} 0');
  expect(await read(url)).toContain(`channelz_calls_started_total${name} 4\n`);
});

test("[CZ-D-EXPORT-2] counts the targets beyond the maximum together, and marks a process that does not respond", async () => {
  const channels = Array.from({ length: 30 }, (_, index) => registry.addChannel({ target: `t${index}`, name: "" }));
  onTestFinished(() => {
    for (const channel of channels) channel.close();
  });
  for (const channel of channels) channel.callStarted();
  const target = await serve();
  const url = await startExport("--target", `live=${target}`, "--target", "dead=127.0.0.1:1", "--max-names", "5");
  await expect.poll(() => read(url)).toContain('channelz_up{process="dead"} 0');
  const text = await read(url);
  expect(text.match(/^channelz_calls_started_total.*kind="channel"/gm)).toHaveLength(6);
  expect(text).toContain('channelz_calls_started_total{process="live",kind="channel",name="(other)"} 25');
});

test("[CZ-D-EXPORT-3] refuses an address that other machines reach, other hosts, paths and methods", async () => {
  const refused = await runCommand(["export", "--listen", "0.0.0.0:0", "--target", "127.0.0.1:1"]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("Use --expose to allow it.");
  const url = new URL(await startExport("--target", await serve()));
  const status = (path: string, method: string, host: string): Promise<number> =>
    new Promise((resolve, reject) => {
      request({ host: url.hostname, port: url.port, path, method, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on("error", reject)
        .end();
    });
  expect(await status("/metrics", "GET", url.host)).toBe(200);
  expect(await status("/metrics", "GET", "attacker.example")).toBe(403);
  expect(await status("/metrics", "POST", url.host)).toBe(405);
  expect(await status("/", "GET", url.host)).toBe(404);
});

test("[CZ-D-EXPORT-1] sends the same metrics to the OpenTelemetry collector that the variables name", async () => {
  const collector = await startCollector();
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: "100" };
  const target = await serve();
  const running = startCommand(["export", "--listen", "127.0.0.1:0", "--target", target], { env });
  await expect.poll(() => [...collector.metrics]).toContain("channelz_up");
  running.process.kill("SIGTERM");
  expect(await running.ended).toBe(0);
});
