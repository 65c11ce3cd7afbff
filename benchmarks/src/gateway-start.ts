import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, type ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "./child-environment.js";
import { median } from "./compare.js";
import { freePort } from "./free-port.js";
import { beginRawSession, type RawSession } from "./raw-session.js";
import { figure, type Row } from "./report.js";
import { startServing } from "./serving-process.js";

const starts = 7;
const [mostMs, mostMb] = [300, 85];
const [servers, clients] = [64, 1000];
/** How long a gateway rests before the memory of what is idle is read: what its start left over is let go in the meantime. */
const restMs = 3000;

/** A running `wirescope up`. */
interface Up {
  /** Of the endpoint. */
  readonly url: string;
  /** From its start to the response to the first tools/list, in milliseconds. */
  readonly startMs: number;
  residentMb(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * The command `wirescope up` with one HTTP server: how long it takes until a client has the tools, and the memory that it holds
 * then; and what many idle servers and clients add to that.
 */
export async function benchGatewayStart(): Promise<Row[]> {
  const raw = await startServing("raw-tool-server.js", ["http"]);
  const folder = mkdtempSync(join(tmpdir(), "wirescope-bench-"));
  const entry = { type: "http", url: `http://127.0.0.1:${raw.ready.port}/mcp` };
  const fileWith = (count: number): string => {
    const file = join(folder, `${count}.json`);
    writeFileSync(
      file,
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`raw${at}`, entry]))),
    );
    return file;
  };
  try {
    const [startMs, residentMb]: [number[], number[]] = [[], []];
    const node = startNode();
    for (let round = -1; round < starts; round += 1) {
      const up = await startUp(fileWith(1), folder, 1);
      // The first one fills the caches of the disk.
      if (round >= 0) {
        startMs.push(up.startMs);
        residentMb.push(await up.residentMb());
      }
      await up.stop();
    }
    return [
      absolute("start to the first tools/list (right: node alone)", median(startMs), node.startMs, mostMs, "ms"),
      absolute("resident memory then (right: node alone)", median(residentMb), node.residentMb, mostMb, "MB"),
      ...(await idleRows(fileWith, folder)),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await raw.stop();
  }
}

async function idleRows(fileWith: (count: number) => string, folder: string): Promise<Row[]> {
  const few = await startUp(fileWith(1), folder, 1);
  const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, restMs));
  await rest();
  const before = await few.residentMb();
  const agent = new Agent({ keepAlive: true });
  const streams: ClientRequest[] = [];
  for (let opened = 0; opened < clients; opened += 1) {
    streams.push(await (await beginRawSession(few.url, agent)).openStream());
  }
  await rest();
  const withClients = await few.residentMb();
  for (const stream of streams) stream.destroy();
  agent.destroy();
  await few.stop();
  const many = await startUp(fileWith(servers), folder, servers);
  await rest();
  const withServers = await many.residentMb();
  await many.stop();
  const added = (work: string, mb: number, count: number): Row => ({
    work,
    ours: `${figure(mb)} MB`,
    theirs: `${figure((mb * 1024) / count)} KB each`,
    goal: "",
  });
  return [
    added(`${clients} idle clients, each with its stream, add`, withClients - before, clients),
    added(`${servers} idle servers in place of one add`, withServers - before, servers - 1),
  ];
}

function absolute(work: string, ours: number, theirs: number, most: number, unit: string): Row {
  return {
    work: `wirescope up: ${work}`,
    ours: `${figure(ours)} ${unit}`,
    theirs: `${figure(theirs)} ${unit}`,
    ratio: ours / theirs,
    goal: `at most ${most} ${unit}`,
    isMet: ours <= most,
  };
}

/** What Node takes to start and do nothing, which differs from machine to machine. */
function startNode(): { readonly startMs: number; readonly residentMb: number } {
  const env = childEnvironment();
  const runs = Array.from({ length: starts }, () => {
    const startedAt = performance.now();
    const program = "process.stdout.write(String(process.memoryUsage.rss()))";
    const bytes = Number(execFileSync(process.execPath, ["-e", program], { env, encoding: "utf8" }));
    return { startMs: performance.now() - startedAt, residentMb: bytes / 1024 / 1024 };
  });
  return {
    startMs: median(runs.map((run) => run.startMs)),
    residentMb: median(runs.map((run) => run.residentMb)),
  };
}

async function startUp(config: string, home: string, tools: number): Promise<Up> {
  const port = await freePort();
  const bin = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));
  const args = ["up", "--config", config, "--port", String(port), "--no-token", "--trust", "--allow-insecure-loopback"];
  const env = childEnvironment(home);
  const startedAt = performance.now();
  const child = spawn(process.execPath, [bin, ...args, "--log", "off"], { stdio: "ignore", env });
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/mcp`;
  await listTools(url, child, tools);
  return {
    url,
    startMs: performance.now() - startedAt,
    async residentMb() {
      const text = await (await fetch(`${origin}/metrics`)).text();
      return Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]) / 1024 / 1024;
    },
    async stop() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** Connects as soon as the gateway listens, and lists the tools. Rejects if the gateway exits instead. */
async function listTools(url: string, child: ChildProcess, tools: number): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  try {
    let session: RawSession | undefined;
    while (session === undefined) {
      if (child.exitCode !== null) throw new Error(`wirescope up ended with ${child.exitCode}.`);
      const begun = await beginRawSession(url, agent).catch(() => undefined);
      if (begun?.id !== undefined) session = begun;
      else await new Promise((resolve) => setTimeout(resolve, 3));
    }
    const body = await session.post({ id: 1, method: "tools/list" });
    const found = body.split('"inputSchema"').length - 1;
    if (found !== tools) throw new Error(`tools/list returned ${found} tools, not ${tools}.`);
  } finally {
    agent.destroy();
  }
}
