import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectChannelz } from "@wirescope/channelz";
import { readSnapshot, type Snapshot } from "@wirescope/channelz/timeline";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createObservation, explain, type RuleFinding, type Thresholds } from "wirescope/internal/explain";
import { root } from "./npm-start.test.helper.js";
import { programOf } from "./program.test.helper.js";
import { type RunningProcess, startProcess, untilPrinted } from "./running-process.test.helper.js";

// Each rule is tested with a separate process that has the problem, over real connections. test/e2e/cli-explain.test.ts has the others.

const folder = mkdtempSync(join(tmpdir(), "wirescope-rules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let processes = 0;

interface Started {
  readonly target: string;
  readonly address: string;
  readonly run: RunningProcess;
}

interface StartOptions {
  /** How far its clock is ahead. */
  readonly skewMs?: number;
  /** A shell command that runs before it, in a separate network namespace. */
  readonly network?: string;
  /** The Unix socket of an earlier process. */
  readonly target?: string;
}

/** Starts a process of explained-process.test.helper.ts that serves Channelz on a Unix socket. */
async function start(setting: object, { skewMs = 0, network, target }: StartOptions = {}): Promise<Started> {
  const program = await programOf(new URL("./explained-process.test.helper.ts", import.meta.url));
  processes += 1;
  const listen = target ?? `unix:${join(folder, `${processes}.sock`)}`;
  const clock = `data:text/javascript,${encodeURIComponent(`const now = Date.now; Date.now = () => now() + ${skewMs};`)}`;
  const node = [process.execPath, "--import", clock, "--import", "@wirescope/instrument/auto", program];
  const command = [...node, JSON.stringify(setting)];
  const [file = "", ...args] =
    network === undefined ? command : ["unshare", "-rn", "sh", "-c", `${network} && exec "$@"`, "sh", ...command];
  const run = startProcess(file, args, {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: "", WIRESCOPE_LISTEN: listen },
  });
  // A stopped process handles no other signal.
  onTestFinished(() => void run.process.kill("SIGKILL"));
  const printed = await untilPrinted(run, /(?:port \S+|up)\n/);
  return { target: listen, address: /port (\S+)/.exec(printed)?.[1] ?? "", run };
}

async function read(target: string): Promise<Snapshot> {
  const source = connectChannelz(target);
  try {
    return await readSnapshot(source, { socketDetails: true, target });
  } finally {
    await source.close();
  }
}

function findingsIn(snapshots: readonly Snapshot[], thresholds: Partial<Thresholds> = {}): readonly RuleFinding[] {
  const seen = createObservation(snapshots, thresholds);
  return seen === undefined ? [] : explain(seen).findings;
}

/** Reads repeatedly until a rule finds something in the last reads: the problem takes a moment to appear. */
async function findingOf(
  rule: string,
  { target }: Started,
  thresholds?: Partial<Thresholds>,
  isMeant: (finding: RuleFinding) => boolean = () => true,
): Promise<RuleFinding> {
  const snapshots: Snapshot[] = [];
  let found: RuleFinding | undefined;
  await expect
    .poll(
      async () => {
        snapshots.push(await read(target));
        for (const count of [snapshots.length, 3]) {
          const findings = findingsIn(snapshots.slice(-count), thresholds);
          found ??= findings.find((finding) => finding.rule === rule && isMeant(finding));
        }
        return found?.rule ?? findingsIn(snapshots, thresholds).map(({ problem }) => problem);
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBe(rule);
  return found ?? expect.unreachable();
}

test("[CZ-D-EXPLAIN-1] flapping: a peer that accepts connections and closes them", async () => {
  const { problem, evidence } = await findingOf("flapping", await start({ mode: "flapping" }));
  expect(problem).toMatch(/^(sub)?channel \d+ \(127\.0\.0\.1:\d+\) loses its connection again and again\.$/);
  expect(evidence[0]).toMatch(/^It lost a connection \d+ times within 10 min\.$/);
});

test("[CZ-D-EXPLAIN-1] stuck-connecting: a peer that accepts connections and completes no handshake", async () => {
  const finding = await findingOf("stuck-connecting", await start({ mode: "silent" }), { stuckMs: 300 });
  expect(finding.problem).toMatch(/has been CONNECTING for \d/);
});

test.each([-3_600_000, 3_600_000])(
  "[CZ-D-EXPLAIN-1] does not confuse a clock that is wrong by %i ms with the time that a process waits",
  async (skewMs) => {
    const silent = await start({ mode: "silent" }, { skewMs });
    const waiting = await start({ mode: "waiting" }, { skewMs });
    await start({ mode: "client", address: waiting.address });
    await findingOf("stuck-connecting", silent, { stuckMs: 1 });
    await findingOf("endless-streams", waiting, { quietMs: 1 });
    // Both have waited for some seconds, whatever their clock says.
    for (const { target } of [silent, waiting]) {
      const rules = findingsIn([await read(target), await read(target)], { stuckMs: 600_000, quietMs: 600_000 });
      expect(rules.filter(({ rule }) => ["stuck-connecting", "endless-streams"].includes(rule))).toEqual([]);
    }
  },
);

test("[CZ-D-EXPLAIN-1] endless-streams: a handler that never responds", async () => {
  const server = await start({ mode: "waiting" });
  await start({ mode: "client", address: server.address });
  const { problem } = await findingOf("endless-streams", server, { quietMs: 300 });
  expect(problem).toMatch(/^1 stream on socket \d+ does not end\.$/);
});

test("[CZ-D-EXPLAIN-1] flow-control-stall: a client that was stopped and no longer reads", async () => {
  const server = await start({ mode: "waiting" });
  const client = await start({ mode: "reader", address: server.address });
  client.run.process.kill("SIGSTOP");
  const isStalled = ({ severity }: RuleFinding): boolean => severity === "warning";
  const { evidence } = await findingOf("flow-control-stall", server, {}, isStalled);
  expect(evidence[0]).toMatch(/^Windows: local 0, remote \d+ bytes\. The peer reads too slowly/);
});

test("[CZ-D-EXPLAIN-1] keepalive-failure: a server that rejects too many keepalives", async () => {
  const process = await start({ mode: "pinging" });
  const isOfClient = ({ objects }: RuleFinding): boolean => objects[0]?.kind === "subchannel";
  const { evidence, advice } = await findingOf("keepalive-failure", process, {}, isOfClient);
  expect(evidence[0]).toMatch(/^GOAWAY with ENHANCE_YOUR_CALM/);
  expect(advice).toContain("Send keepalives less often");
});

test("[CZ-D-EXPLAIN-1] keepalive-failure: a peer that responds to no ping", async () => {
  const { problem, evidence } = await findingOf("keepalive-failure", await start({ mode: "deaf" }));
  expect(problem).toMatch(/^socket \d+ .*sends keepalives and receives no message/);
  expect(evidence[0]).toMatch(/^\d+ keepalives? sent meanwhile\.$/);
});

test("[CZ-D-EXPLAIN-1] uneven-load: a client that uses one of four connections", async () => {
  const { problem, evidence } = await findingOf("uneven-load", await start({ mode: "uneven" }));
  expect(problem).toMatch(/^subchannel \d+ .* takes \d+ % of the load of channel \d+/);
  expect(evidence[0]).toMatch(/among 4 connections\.$/);
});

test("[CZ-D-EXPLAIN-1] contradicting-counters: a process that was restarted between two reads", async () => {
  const before = await start({ mode: "failing" });
  await expect
    .poll(async () => [...(await read(before.target)).objects.values()].some(({ counters }) => counters.failed > 100), {
      timeout: 30_000,
    })
    .toBe(true);
  const first = await read(before.target);
  before.run.process.kill("SIGKILL");
  await before.run.ended;
  const { target } = await start({ mode: "healthy" }, { target: before.target });
  const found = findingsIn([first, await read(target)]);
  expect(found.find(({ rule }) => rule === "contradicting-counters")).toMatchObject({
    severity: "note",
    evidence: [expect.stringMatching(/fewer than before\.$/)],
    advice: expect.stringContaining("The process restarted"),
  });
});

/** A certificate for 90 days, of which 86.5 have passed. */
function createCertificate(): { readonly key: string; readonly cert: string } {
  const timeAt = (days: number): string =>
    `${new Date(Date.now() + days * 86_400_000).toISOString().replace(/\D/g, "").slice(0, 14)}Z`;
  const settings =
    "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\npolicy=any\n[any]\ncommonName=supplied\n";
  writeFileSync(join(folder, "settings"), settings);
  writeFileSync(join(folder, "index"), "");
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  openssl("req", "-new", ...curve, "-nodes", "-subj", "/CN=expires soon", "-keyout", "key.pem", "-out", "request.pem");
  const validity = ["-startdate", timeAt(-86.5), "-enddate", timeAt(3.5)];
  const own = ["-config", "settings", "-md", "sha256", "-selfsign", "-keyfile", "key.pem"];
  openssl("ca", "-batch", ...own, ...validity, "-in", "request.pem", "-out", "cert.pem", "-notext");
  return { key: readFileSync(join(folder, "key.pem"), "utf8"), cert: readFileSync(join(folder, "cert.pem"), "utf8") };
}

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

test.skipIf(!hasOpenssl)(
  "[CZ-D-EXPLAIN-1] certificate-expires: a server whose certificate expires in three days",
  async () => {
    const tls = createCertificate();
    const process = await start({ mode: "secure", tls });
    const isOf =
      (problem: string) =>
      (finding: RuleFinding): boolean =>
        finding.problem === problem;
    await findingOf("certificate-expires", process, {}, isOf("The peer's certificate CN=expires soon expires in 3 d."));
    await findingOf(
      "certificate-expires",
      process,
      {},
      isOf("The process's own certificate CN=expires soon expires in 3 d."),
    );
  },
);

test("[CZ-D-EXPLAIN-1] old-tls: a server that allows a cipher suite of TLS 1.2 that encrypts nothing", async () => {
  const fileOf = (name: string): string => readFileSync(join(root, "test", "certificates", name), "utf8");
  const tls = {
    key: fileOf("server-key.pem"),
    cert: fileOf("server.pem"),
    ciphers: "ECDHE-ECDSA-NULL-SHA:@SECLEVEL=0",
  };
  const { problem } = await findingOf("old-tls", await start({ mode: "secure", tls }));
  expect(problem).toBe("2 connections use the old cipher suite TLS_ECDHE_ECDSA_WITH_NULL_SHA.");
});

// A network namespace in which only this process runs: 16 kbit/s, and packets are dropped after 3 seconds.
const slowNetwork =
  "ip link set lo up && ip link set lo mtu 1500 && tc qdisc add dev lo root tbf rate 16kbit burst 2000 latency 3s";
const canShape = spawnSync("unshare", ["-rn", "sh", "-c", slowNetwork]).status === 0;

test.skipIf(!canShape)(
  "[CZ-D-EXPLAIN-1] tcp-loss, slow-network: a network that is slow and drops packets",
  async () => {
    const process = await start({ mode: "congested" }, { network: slowNetwork });
    expect((await findingOf("tcp-loss", process)).evidence[0]).toMatch(/^\d+ retransmits .*, \d+ segments lost/);
    expect((await findingOf("slow-network", process)).problem).toMatch(
      /^\d connections? ha(s|ve) a long round trip\.$/,
    );
  },
);
