import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { create, toBinary } from "@bufbuild/protobuf";
import { createRegistry, type Registry } from "@wirescope/channelz";
import { SocketOptionTcpInfoSchema } from "@wirescope/channelz/client";
import { createSnapshot, readSnapshot, type Snapshot } from "@wirescope/channelz/timeline";
import { beforeEach, expect, test } from "vitest";
import { explain, type RuleFinding, rules } from "./explain.js";
import { createObservation } from "./finding.js";
import { keepSome } from "./run-explain.js";

let registry: Registry;
let nowMs: number;

beforeEach(() => {
  nowMs = 1_800_000_000_000;
  registry = createRegistry({ clock: { now: () => nowMs } });
});

const read = async (): Promise<Snapshot> => ({
  ...(await readSnapshot(registry, { socketDetails: true })),
  timeMs: nowMs,
});

/** The findings after a read, one action and a read for each further action, a second apart. */
async function findings(...actions: readonly (() => unknown)[]): Promise<readonly RuleFinding[]> {
  const snapshots = [await read()];
  for (const act of actions) {
    nowMs += 1000;
    act();
    snapshots.push(await read());
  }
  const seen = createObservation(snapshots);
  return seen === undefined ? expect.unreachable("There is no snapshot.") : explain(seen).findings;
}

const idsOf = (found: readonly RuleFinding[]): string[] => found.map(({ rule }) => rule);
const repeat = (count: number, act: () => void): void => {
  for (let done = 0; done < count; done += 1) act();
};

test("finds nothing in a healthy process", async () => {
  const channel = registry.addChannel({ name: "api", target: "dns:///api" });
  channel.setState("CONNECTING");
  channel.setState("READY");
  const found = await findings(() => repeat(20, () => [channel.callStarted(), channel.callSucceeded()]));
  expect(found).toEqual([]);
});

test("[CZ-D-EXPLAIN-1] groups failing channels by target and reason, with the start of the failure, before all other findings", async () => {
  const certificate = registry.addServer({ name: "web" });
  for (const name of ["a", "b"]) {
    const channel = registry.addChannel({ name, target: "dns:///orders" });
    channel.setState("CONNECTING");
    channel.setState("TRANSIENT_FAILURE", "connect ECONNREFUSED 10.0.0.7:50051");
  }
  const began = nowMs;
  const [finding, ...others] = await findings(() =>
    repeat(20, () => [certificate.callStarted(), certificate.callFailed()]),
  );
  expect(finding).toMatchObject({
    rule: "failing-target",
    severity: "error",
    problem: "No connection to dns:///orders: 2 channels in TRANSIENT_FAILURE.",
    advice: "Start the server, or correct the port: nothing listens there.",
  });
  expect(finding?.evidence[0]).toContain("ECONNREFUSED");
  expect(finding?.since?.getTime()).toBe(began);
  expect(idsOf(others)).toEqual(["failing-calls"]);
});

test("does not count failed attempts as lost connections once a dead server is back", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  const found = await findings(() => {
    repeat(5, () => {
      channel.setState("CONNECTING");
      channel.setState("TRANSIENT_FAILURE", "connect ECONNREFUSED");
    });
    channel.setState("CONNECTING");
    channel.setState("READY");
  });
  expect(found).toEqual([]);
});

test("gives advice by the reason, also if a server that was reached refused the request", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  channel.setState("CONNECTING");
  channel.setState("TRANSIENT_FAILURE", "The server refused the request. 401 Unauthorized: sign-in required.");
  expect((await findings(() => {}))[0]).toMatchObject({
    problem: "t does not accept the credentials of the client: 1 channel in TRANSIENT_FAILURE.",
    advice: "Check the credentials that the client sends: they are missing, wrong or expired.",
  });
});

test.each([
  ["connect ECONNREFUSED 10.0.0.7:401", "No connection to t", "Start the server"],
  ["403 Forbidden", "t does not allow this client", "Check the permissions"],
  ["connect EACCES /run/api.sock", "No connection to t", "Allow the user that runs the client to open this socket"],
  ["self-signed certificate", "No secure connection to t", "Check the certificate"],
  ["getaddrinfo ENOTFOUND api.example", "No connection to t", "Check the host name"],
  ["connect ETIMEDOUT 10.0.0.7:443", "No connection to t", "Check the network"],
  ["503 Service Unavailable", "t responds with an error", "Look at the logs of the server"],
  ["Stream removed", "No connection to t", "Look at the traces"],
])("says what %j means", async (reason, problem, advice) => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  channel.setState("CONNECTING");
  channel.setState("TRANSIENT_FAILURE", reason);
  expect((await findings(() => {}))[0]).toMatchObject({
    problem: `${problem}: 1 channel in TRANSIENT_FAILURE.`,
    advice: expect.stringContaining(advice),
  });
});

test.each([
  ["behind", -3_600_000],
  ["ahead", 3_600_000],
])("[CZ-D-EXPLAIN-1] finds the same if the clock of the process is an hour %s", async (_, skewMs) => {
  const skewed = createRegistry({ clock: { now: () => nowMs + skewMs } });
  const channel = skewed.addChannel({ name: "api", target: "t" });
  const socket = skewed.addSocket({ server: skewed.addServer() });
  channel.setState("CONNECTING");
  socket.remoteStreamStarted();
  const readSkewed = async (): Promise<Snapshot> => ({
    ...(await readSnapshot(skewed, { socketDetails: true })),
    timeMs: nowMs,
  });
  const explainSkewed = (...snapshots: readonly Snapshot[]): string[] => {
    const seen = createObservation(snapshots);
    return seen === undefined ? [] : idsOf(explain(seen).findings);
  };
  const first = await readSkewed();
  nowMs += 2000;
  expect(explainSkewed(first, await readSkewed())).toEqual([]);
  nowMs += 120_000;
  // Nothing else happens in the process, so only the time between the reads is known.
  expect(explainSkewed(await readSkewed())).toEqual([]);
  expect(explainSkewed(first, await readSkewed())).toEqual(["stuck-connecting", "endless-streams"]);
  // A call shows what time it is there.
  skewed.addChannel({ name: "other", target: "t" }).callStarted();
  expect(explainSkewed(await readSkewed())).toEqual(["stuck-connecting", "endless-streams"]);
});

test("[CZ-D-EXPLAIN-1] finds a channel that connects and fails again and again, and one that stays in CONNECTING", async () => {
  const flapping = registry.addChannel({ name: "flapping", target: "t" });
  const stuck = registry.addChannel({ name: "stuck", target: "t" });
  stuck.setState("CONNECTING");
  const found = await findings(
    () =>
      repeat(4, () => {
        for (const state of ["CONNECTING", "READY", "IDLE"] as const) flapping.setState(state);
      }),
    () => {
      nowMs += 30_000;
    },
  );
  expect(idsOf(found)).toEqual(["stuck-connecting", "flapping"]);
  expect(found[0]?.problem).toContain("channel 2 (stuck) has been CONNECTING for");
});

test("[CZ-D-EXPLAIN-1] reports a channel that loses connections once, with its subchannel, and that keepalives are the reason", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  const subchannel = registry.addSubchannel({ parent: channel, target: "10.0.0.7:443" });
  const flap = (): void => {
    for (const state of ["CONNECTING", "READY", "IDLE"] as const)
      for (const each of [channel, subchannel]) each.setState(state);
  };
  const found = await findings(() => repeat(4, flap));
  expect(found).toMatchObject([
    {
      rule: "flapping",
      problem: "channel 1 (api) loses its connection again and again.",
      evidence: [expect.stringContaining("4 times"), "Also affected: subchannel 2 (10.0.0.7:443)."],
    },
  ]);
  subchannel.trace("keepalive ping failed to receive ACK within timeout", { severity: "error" });
  const explained = (await findings(flap)).find(({ rule }) => rule === "flapping");
  expect(explained?.problem).toBe("channel 1 (api) loses its connection again and again: its keepalives fail.");
  expect(explained?.evidence).toContain("keepalive ping failed to receive ACK within timeout");
  expect(explained?.advice).toContain("went away without a reset");
});

test("reports each of two channels in a cycle that lose connections at most once, and one of them", async () => {
  const [first, second] = [1, 2].map(() => registry.addChannel({ name: "api", target: "t" }));
  const flap = (): void => {
    for (const state of ["CONNECTING", "READY", "IDLE"] as const)
      for (const each of [first, second]) each?.setState(state);
  };
  repeat(4, flap);
  const snapshot = await read();
  const [a, b] = [...snapshot.objects.values()];
  if (a === undefined || b === undefined) expect.unreachable();
  const objects = [
    { ...a, children: [b.key] },
    { ...b, children: [a.key] },
  ];
  const seen = createObservation([createSnapshot({ ...snapshot, objects })]);
  expect(idsOf(seen === undefined ? [] : explain(seen).findings)).toEqual(["flapping"]);
});

test("[CZ-D-EXPLAIN-1] finds streams on a silent socket, and a window of zero with streams in progress", async () => {
  const server = registry.addServer({ name: "web" });
  const subject = {};
  const socket = registry.addSocket({ server, subject, describe: () => ({ localFlowControlWindow: 0 }) });
  socket.remoteStreamStarted();
  const found = await findings(() => {
    nowMs += 120_000;
  });
  expect(idsOf(found).sort()).toEqual(["endless-streams", "flow-control-stall"]);
  expect(found.find(({ rule }) => rule === "flow-control-stall")?.evidence[0]).toContain("The peer reads too slowly");
  expect(subject).toEqual({});
});

test("[CZ-D-EXPLAIN-1] finds keepalives that the peer rejects, and those without a response", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  channel.trace("GOAWAY ENHANCE_YOUR_CALM too_many_pings", { severity: "error" });
  const socket = registry.addSocket({ server: registry.addServer() });
  socket.remoteStreamStarted();
  const found = await findings(() => socket.keepAliveSent());
  expect(idsOf(found)).toEqual(["keepalive-failure", "keepalive-failure"]);
  expect(found[0]?.advice).toContain("less often");
});

test("[CZ-D-EXPLAIN-1] finds a connection that takes most of the load, and a number of objects that only grows", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  const parts = Array.from({ length: 4 }, () => registry.addSubchannel({ parent: channel, target: "10.0.0.1:1" }));
  for (const part of parts) part.setState("READY");
  const grow = (): void => {
    repeat(6, () => registry.addChannel({ name: "leak", target: "t" }));
    repeat(50, () => parts[0]?.callStarted());
    parts[1]?.callStarted();
  };
  const found = await findings(grow, grow, grow, grow);
  expect(idsOf(found).sort()).toEqual(["growing", "uneven-load"]);
  expect(found.find(({ rule }) => rule === "growing")?.evidence[0]).toBe("From 1 to 25 in 5 reads, never fewer.");
});

test("[CZ-D-EXPLAIN-1] finds counters that contradict each other", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  expect(idsOf(await findings(() => repeat(3, () => channel.callFailed())))).toEqual(["contradicting-counters"]);
});

test("[CZ-D-EXPLAIN-1] finds expired certificates, old cipher suites, lost packets and a long round trip", async () => {
  const { raw, subject } = new X509Certificate(rootCertificates[0] ?? "");
  nowMs = Date.UTC(2200);
  const info = create(SocketOptionTcpInfoSchema, { tcpiRetransmits: 5, tcpiRtt: 400_000 });
  const value = toBinary(SocketOptionTcpInfoSchema, info);
  registry.addSocket({
    server: registry.addServer(),
    subject: registry,
    describe: () => ({
      security: { tls: { standardName: "TLS_RSA_WITH_AES_128_CBC_SHA", remoteCertificate: raw } },
      options: [{ name: "TCP_INFO", additional: { type: "SocketOptionTcpInfo", value } }],
    }),
  });
  const found = await findings(() => {});
  expect(idsOf(found)).toEqual(["certificate-expires", "old-tls", "tcp-loss", "slow-network"]);
  expect(found[0]).toMatchObject({
    severity: "error",
    problem: expect.stringContaining(subject.split("\n").join(", ")),
  });
});

test("[CZ-D-EXPLAIN-1] reports no uneven load for the default policy, which connects one subchannel and leaves the others idle", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  const parts = Array.from({ length: 5 }, () => registry.addSubchannel({ parent: channel, target: "10.0.0.1:1" }));
  parts[0]?.setState("READY");
  expect(await findings(() => repeat(50, () => parts[0]?.callStarted()))).toEqual([]);
});

test("[CZ-D-EXPLAIN-1] does not warn about a window that is used up for a moment, nor about one through which messages pass", async () => {
  let localFlowControlWindow = 0;
  const server = registry.addServer({ name: "web" });
  const socket = registry.addSocket({ server, subject: registry, describe: () => ({ localFlowControlWindow }) });
  socket.remoteStreamStarted();
  const slow = await findings(() => socket.messageSent());
  expect(slow).toMatchObject([{ rule: "flow-control-stall", severity: "note" }]);
  localFlowControlWindow = 1000;
  const busy = await findings(() => {
    localFlowControlWindow = 0;
  });
  expect(busy).toEqual([]);
});

test("[CZ-D-EXPLAIN-1] ignores keepalives that failed long ago, and settings that mention them", async () => {
  const channel = registry.addChannel({ name: "api", target: "t" });
  channel.trace("keepalive ping failed to receive ACK within timeout", { severity: "error" });
  expect(idsOf(await findings(() => {}))).toEqual(["keepalive-failure"]);
  channel.trace("The keepalive time is 30 s.");
  nowMs += 3_600_000;
  expect(await findings(() => {})).toEqual([]);
});

test("[CZ-D-EXPLAIN-1] warns about a certificate from 14 days before its end", async () => {
  const { raw, validFrom, validTo } = new X509Certificate(rootCertificates[0] ?? "");
  expect(Date.parse(validTo) - Date.parse(validFrom)).toBeGreaterThan(90 * 86_400_000);
  registry.addSocket({
    server: registry.addServer(),
    subject: registry,
    describe: () => ({ security: { tls: { standardName: "TLS_AES_128_GCM_SHA256", localCertificate: raw } } }),
  });
  nowMs = Date.parse(validTo) - 15 * 86_400_000;
  expect(await findings(() => {})).toEqual([]);
  nowMs = Date.parse(validTo) - 13 * 86_400_000;
  expect(idsOf(await findings(() => {}))).toEqual(["certificate-expires"]);
});

test("keeps a bounded number of reads, with the first and the newest", async () => {
  const kept: Snapshot[] = [];
  const { origins, objects, isComplete } = await read();
  for (let timeMs = 1; timeMs <= 10_000; timeMs += 1) keepSome(kept, { timeMs, origins, objects, isComplete });
  expect(kept.length).toBeLessThan(40);
  expect([kept[0]?.timeMs, kept.at(-1)?.timeMs]).toEqual([1, 10_000]);
});

test("shows at most 20 findings of one rule, and counts the others", async () => {
  for (let index = 0; index < 25; index += 1) {
    const channel = registry.addChannel({ name: `c${index}`, target: `t${index}` });
    channel.setState("CONNECTING");
    channel.setState("TRANSIENT_FAILURE", "refused");
  }
  const seen = createObservation([await read()]);
  const { findings: found, omitted } = seen === undefined ? { findings: [], omitted: 0 } : explain(seen);
  expect([found.length, omitted]).toEqual([20, 5]);
});

test("documents every rule with its threshold", () => {
  const page = readFileSync(new URL("../../../../docs/explain.md", import.meta.url), "utf8");
  for (const { id, finds, threshold } of rules) expect(page).toContain(`| \`${id}\` | ${finds} | ${threshold} |`);
});

test.each([
  [{ name: "", target: "127.0.0.1:7" }, "127.0.0.1:7", "Cannot be reached: connect ECONNREFUSED."],
  [{ name: "orders", target: "127.0.0.1:7" }, "orders", "127.0.0.1:7 cannot be reached: connect ECONNREFUSED."],
])("[CZ-D-EXPLAIN-1] names a target that does not respond once: %j", (origin, label, evidence) => {
  const error = "127.0.0.1:7 cannot be reached: connect ECONNREFUSED.";
  const origins = [{ ...origin, error, errorSubject: "127.0.0.1:7" }];
  const seen = createObservation([createSnapshot({ timeMs: nowMs, origins, objects: [] })]);
  expect(seen && explain(seen).findings).toMatchObject([
    { rule: "target-silent", problem: `${label} does not respond.`, evidence: [evidence] },
  ]);
});
