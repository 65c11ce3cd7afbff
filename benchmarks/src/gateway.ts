import { fileURLToPath } from "node:url";
import { httpCaller } from "./caller.js";
import { median } from "./compare.js";
import { benchGatewayStart } from "./gateway-start.js";
import { rateOf } from "./in-flight.js";
import { figure, type Row } from "./report.js";
import { startServing } from "./serving-process.js";

/** Number of rounds for each number of calls in flight. If there is a goal, enough to even out the noise of the machine. */
const roundsWith: ReadonlyMap<number, number> = new Map([
  [1, 10],
  [16, 30],
  [64, 10],
]);
const callsPerRound = 2000;

/**
 * Calls through the gateway, with its guard, Channelz and redaction, against the same calls made directly: one raw client, one raw
 * server, in processes of their own.
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
  const gateway = await startServing<{ token: string }>("gateway-server.js", [JSON.stringify(entry)]);
  const { port, token } = gateway.ready;
  const direct = httpCaller(url, "echo");
  const through = httpCaller(`http://127.0.0.1:${port}/mcp`, "raw__echo", token);
  try {
    await direct.begin();
    await through.begin();
    const rows: Row[] = [];
    const cpu: number[] = [];
    for (const [inFlight, rounds] of roundsWith) {
      const rates = { direct: [] as number[], through: [] as number[] };
      for (let round = -2; round < rounds; round += 1) {
        const sides = Object.entries({ direct, through });
        // Neither is always the one that finds the machine warm.
        for (const [side, client] of round % 2 === 0 ? sides : sides.reverse()) {
          const { cpuMicros: before } = await gateway.usage();
          const rate = await rateOf(client.call, inFlight, callsPerRound);
          const { cpuMicros: after } = await gateway.usage();
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
    rows.push({ work: `${name}: CPU of the gateway`, ours: `${figure(median(cpu))} µs/call`, theirs: "-", goal: "" });
    return rows;
  } finally {
    direct.close();
    through.close();
    await gateway.stop();
  }
}
