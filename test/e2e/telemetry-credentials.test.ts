import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { startGateway } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld } from "./login-world.test.helper.js";
import { type CollectedSpan, startCollector } from "./otlp-collector.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };
const trace = "0af7651916cd43dd8448eb211c80319c";
/** Moves the clock of a process an hour ahead on a signal, and prints that. */
const leaping = `data:text/javascript,${encodeURIComponent(`
const now = Date.now;
let ahead = 0;
Date.now = () => now() + ahead;
process.on("SIGUSR2", () => {
  ahead += 3_600_000;
  process.stderr.write("[[leapt]]");
});`)}`;
const _meta = { traceparent: `00-${trace}-b7ad6b7169203331-01` };

test("records sign-ins, refreshes, step-ups and helpers as spans, durations and counters, without a token", async () => {
  const world = await createLoginWorld();
  const collector = await startCollector();
  writeFileSync(join(world.folder, "helper.sh"), "#!/bin/sh\necho secret-of-the-helper >&2\nexit 3\n", { mode: 0o755 });
  world.configure({
    notes: { type: "http", url: world.tool.url },
    helped: { type: "http", url: `http://127.0.0.1:9/mcp?key=\${HELPED_KEY}`, headersHelper: "./helper.sh" },
  });
  const env = {
    ...world.env,
    NODE_OPTIONS: `--import=${leaping}`,
    HELPED_KEY: "secret-of-the-query",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "20",
    OTEL_METRIC_EXPORT_INTERVAL: "3600000",
  };
  const options = ["--port", "0", "--log", "off", "--trust", ...world.shared];
  const up = await startGateway(options, { env, cwd: world.folder });
  const named = (name: string, outcome: string): CollectedSpan[] =>
    collector.spans.filter((span) => span.name === name && span.attributes["wirescope.outcome"] === outcome);
  const byId = (id: string | undefined): CollectedSpan | undefined => collector.spans.find((span) => span.id === id);

  await expect
    .poll(() => named("wirescope.helper", "failed")[0]?.attributes, pollOptions)
    .toEqual({
      "wirescope.server": "helped",
      "wirescope.operation": "helper",
      "wirescope.cause": "first",
      "wirescope.outcome": "failed",
      "error.type": "HELPER_FAILED",
      "network.transport": "tcp",
      "network.protocol.name": "http",
      "server.address": "127.0.0.1",
      "server.port": 9,
    });

  expect((await world.run(["login", "notes"], { person: browsingPerson() })).code).toBe(0);
  await expect.poll(() => named("wirescope.sign_in", "done"), pollOptions).toHaveLength(1);
  const [signIn] = named("wirescope.sign_in", "done");
  expect(signIn).toMatchObject({ parent: "", attributes: { "wirescope.server": "notes", "wirescope.cause": "asked" } });
  const parts = collector.spans.filter(({ parent }) => parent === signIn?.id).map(({ name }) => name);
  expect(parts).toEqual(["wirescope.discovery", "wirescope.registration"]);

  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${up.token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(up.endpoint), { requestInit }));
  onTestFinished(() => client.close());
  const call = (name: string, args = {}): Promise<unknown> =>
    client.callTool({ name, arguments: args, _meta }).catch((error: unknown) => error);

  const tools = async (): Promise<string[]> =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
  await expect.poll(tools, pollOptions).toContain("notes__read");

  let leaps = 0;
  const leap = async (): Promise<void> => {
    up.process.kill("SIGUSR2");
    leaps += 1;
    await expect.poll(() => up.stderr.split("[[leapt]]").length - 1, pollOptions).toBe(leaps);
  };

  await leap();
  await Promise.all(Array.from({ length: 8 }, () => call("notes__read")));
  const asked = (): CollectedSpan[] =>
    collector.spans.filter(({ name, kind }) => name === "tools/call read" && kind === 3);
  await expect.poll(asked, pollOptions).toHaveLength(8);
  // The first request that finds the token expired renews it, as its child span, and the others are linked to it.
  const [refresh, ...more] = named("wirescope.refresh", "done");
  expect(more).toEqual([]);
  expect(refresh).toMatchObject({ trace, attributes: { "wirescope.server": "notes", "wirescope.cause": "renewal" } });
  const first = asked().find(({ id }) => id === refresh?.parent);
  expect(first?.links).toEqual([]);
  expect(first?.events).toEqual(["wirescope.credential.started", "wirescope.credential.ended"]);
  const led = asked().filter(({ links }) => links.includes(refresh?.id ?? ""));
  expect(led).not.toEqual([]);
  expect(led.every(({ events }) => events.includes("wirescope.credential.ended"))).toBe(true);

  await call("notes__write", { text: "a" });
  await expect.poll(() => named("wirescope.step_up", "failed")[0], pollOptions).toBeDefined();
  const [stepUp] = named("wirescope.step_up", "failed");
  expect(stepUp).toMatchObject({ trace, attributes: { "error.type": "SIGN_IN_NEEDED" } });
  await expect.poll(() => byId(stepUp?.parent)?.name, pollOptions).toBe("tools/call write");

  await world.authorization.endGrants();
  await leap();
  await call("notes__read");
  await expect.poll(() => named("wirescope.refresh", "failed"), pollOptions).toHaveLength(1);
  const [dead] = named("wirescope.refresh", "failed");
  expect(dead?.attributes).toMatchObject({ "wirescope.server": "notes", "error.type": "TOKEN_REFUSED" });

  const page = await (await fetch(new URL("/metrics", up.endpoint), requestInit)).text();
  const total = (labels: string): number =>
    Number(page.split(`wirescope_gateway_credential_operations_total{${labels}} `)[1]?.split("\n")[0]);
  expect(page).toContain("# TYPE wirescope_gateway_credential_operations_total counter\n");
  expect(total('server="notes",operation="refresh",outcome="done"')).toBe(1);
  expect(total('server="notes",operation="refresh",outcome="failed",code="TOKEN_REFUSED"')).toBe(1);
  expect(total('server="notes",operation="sign-in",outcome="done"')).toBe(1);
  expect(total('server="helped",operation="helper",outcome="failed",code="HELPER_FAILED"')).toBeGreaterThanOrEqual(1);

  up.process.kill("SIGTERM");
  expect(await up.ended).toBe(0);
  expect([...collector.metrics]).toEqual(
    expect.arrayContaining(["wirescope.credential.operation.duration", "wirescope.gateway.credential_operations"]),
  );
  const all = Buffer.concat([...collector.bodies]);
  expect(world.authorization.issued.length).toBeGreaterThanOrEqual(4);
  const queries = ["code_challenge", "redirect_uri", "/callback"];
  for (const secret of [...world.authorization.issued, "secret-of-the-helper", "secret-of-the-query", ...queries]) {
    expect(all.includes(secret), secret).toBe(false);
    expect(page.includes(secret), secret).toBe(false);
  }
});
