import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, type ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { httpCaller } from "./caller.js";
import { median } from "./compare.js";
import { hasChromium, type PageBrowser, startPageBrowser } from "./page-browser.js";
import { type PageProgram, pageLink, startPageProgram } from "./page-program.js";
import { beginRawSession } from "./raw-session.js";
import { figure, type Row } from "./report.js";
import { startServing } from "./serving-process.js";

const loads = 5;
const maxFirstViewKb = 150;
const gatewayObjects = 1000;
const callsPerSecond = 100;
const graphObjects = 2000;
/** How long a gateway, or a page, is observed. */
const observedMs = 10_000;
const warmUpMs = 4000;

/** The page: what a browser loads, what an open page costs the gateway, and how long the browser is busy at a time. */
export async function benchPage(): Promise<Row[]> {
  if (!hasChromium()) {
    return [
      { work: "not measured: Chromium is missing (CHROMIUM_PATH names another)", ours: "", theirs: "", goal: "" },
    ];
  }
  return [...(await withGateway(loadRows)), ...(await withGateway(costRows)), ...(await benchManyObjects())];
}

/** Runs `wirescope up` with one server. */
async function withGateway(work: (gateway: PageProgram, home: string) => Promise<Row[]>): Promise<Row[]> {
  const raw = await startServing("raw-tool-server.js", ["http"]);
  const home = mkdtempSync(join(tmpdir(), "wirescope-bench-"));
  const config = join(home, "servers.json");
  writeFileSync(config, JSON.stringify({ raw: { type: "http", url: `http://127.0.0.1:${raw.ready.port}/mcp` } }));
  const options = ["--port", "0", "--no-token", "--trust", "--allow-insecure-loopback", "--no-browser", "--log", "off"];
  const gateway = await startPageProgram(["up", "--config", config, ...options], home);
  try {
    return await work(gateway, home);
  } finally {
    await gateway.stop();
    rmSync(home, { recursive: true, force: true });
    await raw.stop();
  }
}

/** The row of the one server in the table of the Overview. */
const overviewShown = 'table:has-text("raw") tbody tr';

async function loadRows(_: PageProgram, home: string): Promise<Row[]> {
  const browser = await startPageBrowser(await pageLink(home));
  const [kilobytes, paintMs, shownMs]: [number[], number[], number[]] = [[], [], []];
  for (let round = -1; round < loads; round += 1) {
    const opened = await browser.open("/", overviewShown);
    // The first one fills the caches of the disk.
    if (round >= 0) {
      kilobytes.push(opened.receivedBytes() / 1000);
      shownMs.push(opened.shownMs);
      paintMs.push(
        await opened.page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0),
      );
    }
    await opened.close();
  }
  await browser.close();
  const size = median(kilobytes);
  return [
    {
      work: "received until the Overview is shown, compressed",
      ours: `${figure(size)} kB`,
      theirs: "",
      goal: `at most ${maxFirstViewKb} kB`,
      isMet: size <= maxFirstViewKb,
    },
    { work: "address to first content, elapsed", ours: `${figure(median(paintMs))} ms`, theirs: "", goal: "" },
    {
      work: "address to the rows of the Overview, elapsed",
      ours: `${figure(median(shownMs))} ms`,
      theirs: "",
      goal: "",
    },
  ];
}

/**
 * A gateway with many connections and steady calls. Without a page comes first: a gateway continues to sample for a while after
 * the last page has left.
 */
async function costRows(gateway: PageProgram, home: string): Promise<Row[]> {
  const url = gateway.ready.endpoint ?? "";
  let browser: PageBrowser | undefined;
  const agent = new Agent({ keepAlive: true });
  const streams: ClientRequest[] = [];
  // Each idle client is a connection, an object of Channelz.
  for (let opened = 0; opened < gatewayObjects; opened += 1) {
    streams.push(await (await beginRawSession(url, agent)).openStream());
  }
  const caller = httpCaller(url, "raw__echo");
  await caller.begin();
  try {
    // The first calls compile the code.
    await cpuWhileCalling(gateway, caller.call, warmUpMs);
    const without = await cpuWhileCalling(gateway, caller.call, observedMs);
    browser = await startPageBrowser(await pageLink(home));
    const opened = await browser.open("/", overviewShown);
    // The first snapshot has all objects, the later ones what changed.
    await cpuWhileCalling(gateway, caller.call, warmUpMs);
    const firstBytes = opened.receivedBytes();
    const withPage = await cpuWhileCalling(gateway, caller.call, observedMs);
    const bytesPerSecond = (opened.receivedBytes() - firstBytes) / withPage.seconds;
    const work = `a page open, ${gatewayObjects} objects, ${callsPerSecond} calls a second`;
    const share = ({ cpuMs, seconds }: Observed): string =>
      cpuMs === undefined ? "-" : `${figure(cpuMs / seconds)} ms/s`;
    return [
      {
        work: `${work}: CPU of the gateway (right: without the page)`,
        ours: share(withPage),
        theirs: share(without),
        ...(withPage.cpuMs !== undefined &&
          without.cpuMs !== undefined && {
            ratio: withPage.cpuMs / withPage.seconds / (without.cpuMs / without.seconds),
          }),
        goal: "",
      },
      { work: `${work}: sent to the page`, ours: `${figure(bytesPerSecond / 1000)} kB/s`, theirs: "", goal: "" },
      {
        work: "calls made a second (right: without the page)",
        ours: figure(withPage.calls / withPage.seconds),
        theirs: figure(without.calls / without.seconds),
        goal: "",
      },
    ];
  } finally {
    await browser?.close();
    caller.close();
    for (const stream of streams) stream.destroy();
    agent.destroy();
  }
}

interface Observed {
  /** Undefined on systems where it is not known. */
  readonly cpuMs: number | undefined;
  readonly calls: number;
  readonly seconds: number;
}

/** The CPU time of a gateway while it gets a steady number of calls. */
async function cpuWhileCalling(gateway: PageProgram, call: () => Promise<void>, ms: number): Promise<Observed> {
  const before = gateway.cpuMs();
  const startedAt = performance.now();
  const elapsed = (): number => performance.now() - startedAt;
  const underway = new Set<Promise<void>>();
  let calls = 0;
  while (elapsed() < ms) {
    for (; calls < (elapsed() / 1000) * callsPerSecond; calls += 1) {
      const called = call().finally(() => underway.delete(called));
      underway.add(called);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await Promise.all(underway);
  const after = gateway.cpuMs();
  return {
    cpuMs: before === undefined || after === undefined ? undefined : after - before,
    calls,
    seconds: elapsed() / 1000,
  };
}

/** The graph of a process with many objects, while updates arrive. */
async function benchManyObjects(): Promise<Row[]> {
  const target = await startServing("page-target-server.js", [String(graphObjects)]);
  const home = mkdtempSync(join(tmpdir(), "wirescope-bench-"));
  const program = await startPageProgram(["page", "--target", `127.0.0.1:${target.ready.port}`], home);
  let browser: PageBrowser | undefined;
  try {
    browser = await startPageBrowser(program.ready.link ?? "");
    const { page } = await browser.open("/connections", "a.node");
    const blocked = await page.evaluate(async (ms) => {
      const longest = { atStart: 0, later: 0, count: 0 };
      const duration = (entries: PerformanceEntryList): number => Math.max(0, ...entries.map((task) => task.duration));
      // Tasks shorter than 50 ms are not reported: the browser can show a frame in time.
      const observer = new PerformanceObserver((list) => {
        const later = list.getEntries().filter(({ startTime }) => startTime >= settledAt);
        longest.later = Math.max(longest.later, duration(later));
        longest.count += later.length;
        longest.atStart = Math.max(
          longest.atStart,
          duration(list.getEntries().filter((task) => !later.includes(task))),
        );
      });
      const settledAt = performance.now() + 2000;
      observer.observe({ type: "longtask", buffered: true });
      await new Promise((resolve) => setTimeout(resolve, ms + 2000));
      observer.disconnect();
      return longest;
    }, observedMs);
    const shown = (ms: number): string => (ms === 0 ? "under 50 ms" : `${figure(ms)} ms`);
    const row = (work: string, ours: string): Row => ({
      work: `Connections, ${graphObjects} objects: ${work}`,
      ours,
      theirs: "",
      goal: "",
    });
    return [
      row("longest blocked frame while it opens, elapsed", shown(blocked.atStart)),
      row("longest blocked frame while updates arrive, elapsed", shown(blocked.later)),
      row(`frames blocked for 50 ms or more in ${observedMs / 1000} s`, String(blocked.count)),
    ];
  } finally {
    await browser?.close();
    await program.stop();
    rmSync(home, { recursive: true, force: true });
    await target.stop();
  }
}
