import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { runCommand } from "./command.test.helper.js";
import { root } from "./npm-start.test.helper.js";
import { programOf } from "./program.test.helper.js";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";

const folder = mkdtempSync(join(tmpdir(), "wirescope-explain-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Started {
  /** The address of its Channelz. */
  readonly target: string;
  /** The address of its server. */
  readonly address: string;
}

async function start(setting: { mode: string; address?: string }): Promise<Started> {
  const program = await programOf(new URL("./explained-process.test.helper.ts", import.meta.url));
  const target = `unix:${join(folder, `${setting.mode}.sock`)}`;
  const run = startProcess(
    process.execPath,
    ["--import", "@wirescope/instrument/auto", program, JSON.stringify(setting)],
    { cwd: root, env: { ...process.env, NODE_OPTIONS: "", WIRESCOPE_LISTEN: target } },
  );
  const printed = await untilPrinted(run, /(?:port \S+|up)\n/);
  return { target, address: /port (\S+)/.exec(printed)?.[1] ?? "" };
}

interface JsonFinding {
  readonly rule: string;
  readonly severity: string;
  readonly problem: string;
  readonly evidence: readonly string[];
}

async function explain(
  targets: readonly string[],
  duration = "600ms",
): Promise<{ code: number; findings: readonly JsonFinding[] }> {
  const argv = ["explain", "--json", "--interval", "100ms", "--for", duration];
  const { code, stdout } = await runCommand([...argv, ...targets.flatMap((target) => ["--target", target])]);
  return { code, findings: JSON.parse(stdout).findings };
}

/** Runs explain until a rule finds something of a severity, such as `error: failing-target`: the problem takes a moment to appear. */
async function findingOf(wanted: string, targets: readonly string[], duration?: string): Promise<JsonFinding> {
  let found: JsonFinding | undefined;
  await expect
    .poll(
      async () => {
        const { findings } = await explain(targets, duration);
        found = findings.find((finding) => `${finding.severity}: ${finding.rule}` === wanted);
        return found === undefined ? findings : wanted;
      },
      { timeout: 120_000 },
    )
    .toBe(wanted);
  return found ?? expect.unreachable();
}

test("[CZ-D-EXPLAIN-1] finds nothing worse than a note in a busy process with streams, and nothing in an idle listener", async () => {
  const { target } = await start({ mode: "healthy" });
  for (let run = 0; run < 2; run += 1) {
    const { code, findings } = await explain([target]);
    expect({ code, worse: findings.filter(({ severity }) => severity !== "note") }).toEqual({ code: 0, worse: [] });
    for (const { problem, evidence } of findings) expect([problem, ...evidence].join(" ")).not.toMatch(/ {2}| never /);
  }
  const listener = await listenChannelz(createRegistry());
  onTestFinished(() => listener.close());
  expect(await explain([listener.address])).toEqual({ code: 0, findings: [] });
});

test("[CZ-D-EXPLAIN-1] finds calls that fail, at both ends, a target at which nothing listens, and a process that does not respond", async () => {
  const address = "127.0.0.1:1";
  const { target } = await start({ mode: "failing", address });
  const finding = await findingOf("error: failing-target", [target]);
  expect(finding).toMatchObject({ advice: expect.stringContaining("nothing listens there") });
  expect(finding.evidence[0]).toContain("ECONNREFUSED");
  const found = async (): Promise<string[]> =>
    (await explain([target])).findings.map(({ severity, problem }) => `${severity}: ${problem}`);
  await expect
    .poll(found)
    .toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^error: 100 % of the calls of channel \d+ \(127\.0\.0\.1:\d{2,}\) fail\.$/),
        expect.stringMatching(/^error: 100 % of the calls of server \d+ \(grpc-js\) fail\.$/),
      ]),
    );
  expect(await findingOf("error: target-silent", [target, `gone=${address}`])).toMatchObject({
    problem: "gone does not respond.",
  });
});

test("[CZ-D-EXPLAIN-1] finds a process that creates a client for each call", async () => {
  const { target } = await start({ mode: "leaking" });
  expect((await findingOf("warning: growing", [target], "2s")).problem).toBe("The number of channels only grows.");
});

test("[CZ-D-EXPLAIN-1] observes a process that responds slowly until the rules have enough reads", async () => {
  const registry = createRegistry();
  const growth = setInterval(() => registry.addChannel({ name: "leaked" }), 50);
  onTestFinished(() => clearInterval(growth));
  const listener = await listenChannelz(registry);
  onTestFinished(() => listener.close());
  const port = Number(new URL(listener.url).port);
  // Delays each piece of a response, so that few reads fit into the observation.
  const slow = createServer((client) => {
    const server = connect(port, "127.0.0.1");
    client.pipe(server).on("error", () => client.destroy());
    server.on("data", (bytes) => setTimeout(() => client.write(bytes), 500));
    server.on("close", () => client.destroy());
    client.on("error", () => server.destroy()).on("close", () => server.destroy());
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void slow.close());
  const { findings } = await explain([`127.0.0.1:${(slow.address() as AddressInfo).port}`], "1s");
  const growing = findings.find(({ rule }) => rule === "growing");
  expect(growing?.problem).toBe("The number of channels only grows.");
  expect(growing?.evidence[0]).toMatch(/ in 5 reads, never fewer\.$/);
});

test("[CZ-D-EXPLAIN-1] says that the server is the slow end if its handler waits", async () => {
  const server = await start({ mode: "waiting" });
  const client = await start({ mode: "client", address: server.address });
  const finding = await findingOf("note: stuck-calls", [`front=${client.target}`, `orders=${server.target}`]);
  expect(finding.problem).toBe("1 call from front to orders waits.");
  expect(finding.evidence[1]).toBe("orders is still processing them: it is the slow end.");
});
