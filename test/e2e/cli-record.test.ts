import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelzListener, createRegistry, listenChannelz } from "@wirescope/channelz";
import { openRecording } from "@wirescope/channelz/timeline/node";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runCommand, startCommand } from "./command.test.helper.js";
import { runMeanwhile } from "./running-command.test.helper.js";

const registry = createRegistry();
const orders = registry.addChannel({ name: "orders", target: "dns:///orders.internal:443" });
const subchannel = registry.addSubchannel({ parent: orders, target: "10.1.2.3:443" });
const server = registry.addServer({ name: "main" });
const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
const pathOf = (name: string): string => join(folder, name);
let listener: ChannelzListener;
let successes: NodeJS.Timeout;

function startSuccesses(): void {
  successes = setInterval(() => {
    orders.callStarted();
    orders.callSucceeded();
  }, 10);
}

beforeAll(async () => {
  listener = await listenChannelz(registry, { port: 0 });
  orders.setState("READY");
  startSuccesses();
});
afterAll(async () => {
  clearInterval(successes);
  await listener.close({ deadlineMs: 0 });
  for (const handle of [subchannel, orders, server]) handle.close();
  rmSync(folder, { recursive: true, force: true });
});

const record = (name: string, ...options: string[]) =>
  runCommand(["record", pathOf(name), "--target", listener.address, "--interval", "20ms", ...options]);

test("[CZ-D-RECORD-5] records until the duration is over, and other commands read the recording as a target", async () => {
  const run = await record("first.wsr", "--for", "500ms");
  expect(run).toMatchObject({ code: 0 });
  expect(run.stdout).toMatch(/^Recorded \d+ samples of 3 objects in /);
  const tree = await runCommand(["tree", "--target", `file:${pathOf("first.wsr")}`]);
  expect(tree).toMatchObject({ code: 0, stderr: "" });
  expect(tree.stdout).toContain("orders");
  const earlier = await runCommand(["channels", "--json", "--target", `then=file:${pathOf("first.wsr")}@+100ms`]);
  expect(JSON.parse(earlier.stdout)).toBeDefined();
  expect(earlier.stdout).toContain("dns:///orders.internal:443");
});

test("ends at the maximum size, says so, and refuses to replace a file", async () => {
  const options = ["--target", listener.address, "--interval", "100ms", "--max-size", "600B", "--json"];
  const run = await runCommand(["record", pathOf("small.wsr"), ...options]);
  expect(JSON.parse(run.stdout)).toMatchObject({ endedBy: "size", objects: 3 });
  expect(statSync(pathOf("small.wsr")).size).toBeLessThanOrEqual(600);
  expect(await record("small.wsr")).toMatchObject({ code: 2, stderr: expect.stringContaining("--append") });
});

test("leaves addresses out of a recording with --redact", async () => {
  await record("redacted.wsr", "--for", "200ms", "--redact");
  const recording = openRecording(pathOf("redacted.wsr"));
  const text = JSON.stringify([...(recording.newest()?.objects.values() ?? [])], (_, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
  expect(recording.newest()?.origins).toEqual([{ name: "", target: "redacted" }]);
  recording.close();
  expect(text).toContain("main");
  expect(text).not.toMatch(/orders\.internal|10\.1\.2\.3/);
});

test("records that a target does not respond, and exits with 1 if it never did", async () => {
  const run = await runCommand(["record", pathOf("down.wsr"), "--target", "127.0.0.1:1", "--for", "300ms"]);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain("127.0.0.1:1");
  const recording = openRecording(pathOf("down.wsr"));
  expect(recording.newest()?.origins[0]?.error).toBeDefined();
  recording.close();
});

test("[CZ-D-RECORD-2] serves a recording whose recorder was killed while it wrote", async () => {
  const path = pathOf("killed.wsr");
  const recorder = startCommand(["record", path, "--target", listener.address, "--interval", "20ms"]);
  await expect.poll(() => statSync(path, { throwIfNoEntry: false })?.size ?? 0).toBeGreaterThan(100);
  recorder.process.kill("SIGKILL");
  await recorder.ended;
  const replay = await runMeanwhile(["replay", path, "--json"]);
  const { target, firstMs, lastMs } = JSON.parse(replay.stdout);
  expect(lastMs).toBeGreaterThan(firstMs);
  const channels = await runCommand(["channels", "--target", target]);
  expect(channels).toMatchObject({ code: 0, stderr: "" });
  expect(channels.stdout).toContain("dns:///orders.internal:443");
  expect(await replay.stop()).toBe(0);

  const continued = await record("killed.wsr", "--append", "--for", "100ms");
  expect(continued.code).toBe(0);
  const recording = openRecording(path);
  expect(recording.range()).toMatchObject({ firstMs });
  expect(recording.range()?.lastMs).toBeGreaterThan(lastMs);
  expect(recording.damagedBytes).toBe(0);
  recording.close();
});

test("[CZ-D-RECORD-6] compares two moments of a recording, and exits with 1 if objects differ", async () => {
  const path = pathOf("diff.wsr");
  await record("diff.wsr", "--for", "200ms");
  const added = registry.addChannel({ name: "billing", target: "dns:///billing.internal:443" });
  orders.setState("TRANSIENT_FAILURE");
  await record("diff.wsr", "--for", "200ms", "--append");
  const same = await runCommand(["diff", path, path]);
  expect(same).toMatchObject({ code: 0 });
  expect(same.stdout).toContain("No object appeared");
  const changed = await runCommand(["diff", `${path}@+1ms`, path, "--json", "--window", "200ms"]);
  expect(changed.code).toBe(1);
  expect(JSON.parse(changed.stdout)).toMatchObject({
    appeared: [{ kind: "channel", name: "billing" }],
    gone: [],
    states: [{ name: "orders", before: "READY", after: "TRANSIENT_FAILURE" }],
  });
  const text = await runCommand(["diff", `${path}@+1ms`, path]);
  expect(text.stdout).toMatch(/Appeared \(1\)\n.*\n.*billing/);
  expect(text.stdout).toMatch(/Changed state \(1\)\n.*\n.*orders +READY +TRANSIENT_FAILURE/);
  added.close();
  orders.setState("READY");
});

test("compares two processes by names and targets, and shows how their rates differ", async () => {
  const other = createRegistry();
  const handles = [
    other.addSubchannel({ parent: other.addChannel({ name: "other" }), target: "10.9.9.9:443" }),
    other.addChannel({ name: "orders", target: "dns:///orders.internal:443" }),
    other.addServer({ name: "main" }),
  ];
  await using second = await listenChannelz(other, { port: 0 });
  const run = await runCommand(["diff", listener.address, second.address, "--json", "--window", "300ms"]);
  expect(run.code).toBe(1);
  const { appeared, gone, states, rates } = JSON.parse(run.stdout);
  expect(appeared.map(({ name }: { name: string }) => name)).toContain("other");
  expect(gone.every(({ name }: { name: string }) => name !== "orders" && name !== "main")).toBe(true);
  expect(states).toMatchObject([{ name: "orders", before: "READY", after: "IDLE" }]);
  expect(rates[0]).toMatchObject({ name: "orders", startedPerSecond: { after: 0 } });
  expect(handles).toHaveLength(3);
});

test("[CZ-D-RECORD-7] watch, top and explain read all of a recording, not its last moment", async () => {
  const path = pathOf("history.wsr");
  // Otherwise there may be more of them than failures between two samples.
  clearInterval(successes);
  onTestFinished(startSuccesses);
  await record("history.wsr", "--for", "200ms");
  orders.setState("CONNECTING");
  for (let count = 0; count < 50; count += 1) {
    orders.callStarted();
    orders.callFailed();
  }
  await record("history.wsr", "--for", "200ms", "--append");
  orders.setState("READY");
  await record("history.wsr", "--for", "200ms", "--append");

  const watch = await runCommand(["watch", "--target", path, "--filter", "orders", "--event", "state"]);
  expect(watch).toMatchObject({ code: 0, stderr: "" });
  expect(watch.stdout).toMatch(/orders {2}READY → CONNECTING\n.*orders {2}CONNECTING → READY\n$/);
  const waiting = ["watch", "--target", `file:${path}`, "--filter", "orders", "--until"];
  expect((await runCommand([...waiting, "CONNECTING"])).code).toBe(0);
  expect(await runCommand([...waiting, "SHUTDOWN"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Not SHUTDOWN: channel 1 orders (READY)"),
  });

  const top = await runCommand(["top", "--json", "--filter", "orders", "--target", path]);
  expect(top.code).toBe(0);
  const rows = top.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).rows[0]);
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(["READY", "CONNECTING"]));
  expect(rows.every(({ perSecond }) => perSecond.started >= 0)).toBe(true);
  expect(rows.some(({ failureRate }) => failureRate > 0.5)).toBe(true);
  const once = await runCommand(["top", "--once", "--json", "--target", `${path}@+100ms`]);
  expect(JSON.parse(once.stdout)).toMatchObject({
    rows: expect.arrayContaining([expect.objectContaining({ name: "orders", state: "READY" })]),
  });

  const explain = await runCommand(["explain", "--target", path]);
  expect(Number(/read (\d+) times/.exec(explain.stdout)?.[1])).toBeGreaterThan(2);
  const two = await runCommand(["top", "--once", "--target", `a=${path}`, "--target", `b=${path}`]);
  expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining("one recording at a time") });
});

test.each([
  [["replay", "/nonexistent.wsr"], "Cannot read the recording /nonexistent.wsr: the file does not exist."],
  [["tree", "--target", "file:package.json"], "not a Wirescope recording"],
  [["record", "/nonexistent/x.wsr", "--target", "127.0.0.1:1"], "the folder does not exist. Create it"],
  [["watch", "--target", "/nonexistent.wsr"], "Cannot read the recording /nonexistent.wsr: the file does not exist."],
  [["record", "x.wsr", "--max-size", "much"], "is not a size"],
])("reports a usage error for %j", async (argv, message) => {
  expect(await runCommand(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

test("exits with 3 if a side of a comparison cannot be read", async () => {
  const run = await runCommand(["diff", "127.0.0.1:1", listener.address]);
  expect(run).toMatchObject({ code: 3, stderr: expect.stringContaining("127.0.0.1:1") });
});

test("refuses a moment that a recording does not have, and shows what it covers", async () => {
  const run = await runCommand(["replay", pathOf("first.wsr"), "--at=-3h"]);
  expect(run).toMatchObject({ code: 2, stderr: expect.stringMatching(/no moment "-3h".*covers 20/) });
});

test("plays a recording from its start at a chosen speed", async () => {
  const path = pathOf("first.wsr");
  const replay = await runMeanwhile(["replay", path, "--speed", "0.001", "--json"]);
  const { target, atMs, firstMs } = JSON.parse(replay.stdout);
  expect(atMs).toBe(firstMs);
  const startedAt = async (from: string): Promise<number> => {
    const { stdout } = await runCommand(["channels", "--json", "--target", from]);
    return Number(/"callsStarted": "?(\d+)/.exec(stdout)?.[1] ?? 0);
  };
  expect(await startedAt(target)).toBeLessThan(await startedAt(`file:${path}`));
});
