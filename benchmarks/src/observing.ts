import { median } from "./compare.js";
import { runLoad } from "./grpc-load.js";
import { figure, type Row } from "./report.js";
import { type ServingProcess, startServing } from "./serving-process.js";

const inFlight = 32;
const rounds = 12;
const callsPerRound = 3000;
const load = { path: "/bench.Echo/Call", requests: [new Uint8Array(10)] };

interface Samples {
  readonly rates: number[];
  readonly p99s: number[];
  readonly cpus: number[];
  /** Bytes allocated a call, of the rounds in which nothing was collected. */
  readonly allocations: number[];
}

/**
 * What it costs a server to be watched: the same server with the instrument on and off, in processes of their own, with
 * unary calls, 32 in flight. The second "off" shows how far two servers that are the same differ in this run.
 */
export async function benchObserving(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { kind, least } of [{ kind: "http2", least: 0.95 }, { kind: "grpc-js" }]) {
    const servers = await Promise.all(
      ["off", "on", "off"].map((state) => startServing("observing-server.js", [kind, state])),
    );
    const samples = servers.map((): Samples => ({ rates: [], p99s: [], cpus: [], allocations: [] }));
    for (let round = -2; round < rounds; round += 1) {
      const order = round % 2 === 0 ? [0, 1, 2] : [2, 1, 0];
      for (const index of order) await sample(servers[index]!, round >= 0 ? samples[index]! : undefined);
    }
    // In rounds of their own: a collection by force also throws away optimized code.
    for (let round = 0; round < 3; round += 1) {
      for (const [index, server] of servers.entries()) await sampleAllocation(server, samples[index]!);
    }
    await Promise.all(servers.map((server) => server.stop()));
    rows.push(...rowsOf(kind, samples, least));
  }
  return rows;
}

async function sample(server: ServingProcess<object>, into: Samples | undefined): Promise<void> {
  const before = await server.usage(false);
  const { callsPerSecond, p99Ms } = await runLoad(server.ready.port, load, inFlight, callsPerRound);
  const after = await server.usage(false);
  into?.rates.push(callsPerSecond);
  into?.p99s.push(p99Ms);
  into?.cpus.push((after.cpuMicros - before.cpuMicros) / callsPerRound);
}

async function sampleAllocation(server: ServingProcess<object>, into: Samples): Promise<void> {
  const before = await server.usage(true);
  await runLoad(server.ready.port, load, inFlight, callsPerRound);
  const after = await server.usage(false);
  if (after.collections !== before.collections) return;
  into.allocations.push((after.heapBytes - before.heapBytes) / callsPerRound);
}

function rowsOf(kind: string, [off, on, alsoOff]: Samples[], least: number | undefined): Row[] {
  const watched = kind === "grpc-js" ? "grpc-js, its own channelz" : kind;
  const offRate = (median(off!.rates) + median(alsoOff!.rates)) / 2;
  const offCpu = (median(off!.cpus) + median(alsoOff!.cpus)) / 2;
  const offAllocation = (median(off!.allocations) + median(alsoOff!.allocations)) / 2;
  const offP99 = (median(off!.p99s) + median(alsoOff!.p99s)) / 2;
  const rate = median(on!.rates) / offRate;
  const row = (work: string, unit: string, onValue: number, offValue: number): Row => ({
    work,
    ours: `${figure(onValue)} ${unit}`,
    theirs: `${figure(offValue)} ${unit}`,
    ratio: onValue / offValue,
    goal: "",
  });
  return [
    {
      ...row(`${watched}: calls a second`, "calls/s", median(on!.rates), offRate),
      ...(least !== undefined && { goal: `at least ${least.toFixed(3)}`, isMet: rate >= least }),
    },
    row(`${watched}: CPU of the server`, "µs/call", median(on!.cpus), offCpu),
    row(`${watched}: allocated by the server`, "bytes/call", median(on!.allocations), offAllocation),
    row(`${watched}: 99th percentile`, "ms", median(on!.p99s), offP99),
    row(`${watched}: off against off`, "calls/s", median(off!.rates), median(alsoOff!.rates)),
  ];
}
