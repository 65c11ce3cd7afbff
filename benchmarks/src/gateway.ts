import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { httpCaller } from "./caller.js";
import { median } from "./compare.js";
import { benchGatewayStart } from "./gateway-start.js";
import { rateOf } from "./in-flight.js";
import { type Program, startProgram } from "./peers/program.js";
import { figure, type Row } from "./report.js";
import { startServing } from "./serving-process.js";

/** Number of rounds for each number of calls in flight. If there is a goal, enough to even out the noise of the machine. */
const roundsWith: ReadonlyMap<number, number> = new Map([
  [1, 10],
  [16, 30],
  [64, 10],
]);
const callsPerRound = 2000;
const token = "0123456789abcdef0123456789abcdef";

/**
 * Calls through `wirescope up`, with its token, limits, log of calls, Channelz and redaction, against the same calls made directly:
 * one raw client, one raw server, in processes of their own.
 */
export async function benchGateway(): Promise<Row[]> {
  const raw = await startServing("raw-tool-server.js", ["http"]);
  const url = `http://127.0.0.1:${raw.ready.port}/mcp`;
  const script = fileURLToPath(new URL("raw-tool-server.js", import.meta.url));
  const stdio = { command: process.execPath, args: [script, "stdio"] };
  const rows: Row[] = [];
  try {
    for (const [name, entry, least] of [
      ["HTTP to HTTP", { type: "http", url }, 0.45],
      ["HTTP to stdio", stdio, 0.6],
    ] as const) {
      rows.push(...(await compareWith(name, entry, url, least)));
    }
    rows.push(...(await benchGatewayStart()));
  } finally {
    await raw.stop();
  }
  return rows;
}

async function compareWith(name: string, entry: object, url: string, least: number): Promise<Row[]> {
  const home = mkdtempSync(join(tmpdir(), "wirescope-bench-"));
  const gateway = await startProgram(gatewayOf(entry, home), home);
  const direct = httpCaller(url, "echo");
  const through = gateway.caller;
  try {
    await direct.begin();
    const rows: Row[] = [];
    const cpu: number[] = [];
    for (const [inFlight, rounds] of roundsWith) {
      const rates = { direct: [] as number[], through: [] as number[] };
      for (let round = -2; round < rounds; round += 1) {
        const sides = Object.entries({ direct, through });
        // Neither is always the one that finds the machine warm.
        for (const [side, client] of round % 2 === 0 ? sides : sides.reverse()) {
          const before = gateway.usage()?.cpuMicros ?? Number.NaN;
          const rate = await rateOf(client.call, inFlight, callsPerRound);
          const after = gateway.usage()?.cpuMicros ?? Number.NaN;
          if (round >= 0) rates[side as keyof typeof rates].push(rate);
          if (round >= 0 && client === through && inFlight === 16) cpu.push((after - before) / callsPerRound);
        }
      }
      const [ours, theirs] = [median(rates.through), median(rates.direct)];
      // Of the two that were measured one after the other: the machine may be another a second later.
      const ratio = median(rates.through.map((rate, round) => rate / (rates.direct[round] ?? Number.NaN)));
      rows.push({
        work: `${name}: ${inFlight} in flight`,
        ours: `${figure(ours)} calls/s`,
        theirs: `${figure(theirs)} calls/s`,
        ratio,
        goal: inFlight === 16 ? `at least ${least.toFixed(2)}` : "",
        ...(inFlight === 16 && { isMet: ratio >= least }),
      });
    }
    // The mean, because the system counts CPU time in steps of 10 ms.
    const mean = cpu.reduce((sum, each) => sum + each, 0) / cpu.length;
    rows.push({ work: `${name}: CPU of the gateway`, ours: `${figure(mean)} µs/call`, theirs: "-", goal: "" });
    return rows;
  } finally {
    direct.close();
    await gateway.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

/** As a user would start it, in front of one server. */
function gatewayOf(entry: object, home: string): Program {
  const bin = fileURLToPath(new URL("../../packages/cli/bin/wirescope.js", import.meta.url));
  const [config, tokenFile] = [join(home, "mcp.json"), join(home, "token")];
  writeFileSync(config, JSON.stringify({ mcpServers: { raw: entry } }));
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const options = [
    "--config",
    config,
    "--token-file",
    tokenFile,
    "--trust",
    "--allow-insecure-loopback",
    "--log",
    "off",
  ];
  return {
    name: "wirescope up",
    speaks: "http",
    tool: "raw__echo",
    token,
    args: (port) => [bin, "up", ...options, "--port", String(port)],
  };
}
