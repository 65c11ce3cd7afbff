import { median } from "./compare.js";
import { type Load, runLoad } from "./grpc-load.js";
import { figure, type Row } from "./report.js";
import { type ServingProcess, startServing } from "./serving-process.js";

const inFlight = 32;
const rounds = 12;
const callsPerRound = 3000;
/** Few enough that a round allocates less than what starts a collection. */
const callsPerCount = 500;

const kinds: readonly { readonly kind: string; readonly load: Load; readonly least?: number }[] = [
  { kind: "http2", load: { path: "/bench.Echo/Call", requests: [new Uint8Array(10)] }, least: 0.95 },
  { kind: "connect-node", load: { path: "/grpc.health.v1.Health/Check", requests: [new Uint8Array()] }, least: 0.97 },
  { kind: "grpc-js", load: { path: "/bench.Echo/Call", requests: [new Uint8Array(10)] } },
];

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
  for (const { kind, load, least } of kinds) {
    const servers = await Promise.all(
      ["off", "on", "off"].map((state) => startServing("observing-server.js", [kind, state])),
    );
    const samples = servers.map((): Samples => ({ rates: [], p99s: [], cpus: [], allocations: [] }));
    for (let round = -2; round < rounds; round += 1) {
      const order = round % 2 === 0 ? [0, 1, 2] : [2, 1, 0];
      for (const index of order) await sample(servers[index]!, load, round >= 0 ? samples[index]! : undefined);
    }
    // In shorter rounds of their own.
    for (let round = 0; round < 5; round += 1) {
      for (const [index, server] of servers.entries()) await sampleAllocation(server, load, samples[index]!);
    }
    await Promise.all(servers.map((server) => server.stop()));
    rows.push(...rowsOf(kind, samples, least));
  }
  return rows;
}

async function sample(server: ServingProcess<object>, load: Load, into: Samples | undefined): Promise<void> {
  const before = await server.usage();
  const { callsPerSecond, p99Ms } = await runLoad(server.ready.port, load, inFlight, callsPerRound);
  const after = await server.usage();
  into?.rates.push(callsPerSecond);
  into?.p99s.push(p99Ms);
  into?.cpus.push((after.cpuMicros - before.cpuMicros) / callsPerRound);
}

async function sampleAllocation(server: ServingProcess<object>, load: Load, into: Samples): Promise<void> {
  const before = await server.usage();
  await runLoad(server.ready.port, load, inFlight, callsPerCount);
  const after = await server.usage();
  if (after.collections !== before.collections) return;
  into.allocations.push((after.heapBytes - before.heapBytes) / callsPerCount);
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
