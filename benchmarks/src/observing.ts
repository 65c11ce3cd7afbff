import { median } from "./compare.js";
import { type Load, runLoad } from "./grpc-load.js";
import { figure, type Row } from "./report.js";
import { type ServingProcess, startServing } from "./serving-process.js";

const inFlight = 32;
/** Two processes that are the same differ by some per cent for as long as they live, so several are asked. */
const generations = 3;
const warmUps = 3;
const rounds = 6;
const callsPerRound = 2000;
const roundsPerCount = 3;
/** Few enough that a round allocates less than what starts a collection. */
const callsPerCount = 500;

const kinds: readonly { readonly kind: string; readonly load: Load; readonly least?: number }[] = [
  { kind: "http2", load: { path: "/bench.Echo/Call", requests: [new Uint8Array(10)] }, least: 0.95 },
  { kind: "connect-node", load: { path: "/grpc.health.v1.Health/Check", requests: [new Uint8Array()] }, least: 0.97 },
  { kind: "grpc-js", load: { path: "/bench.Echo/Call", requests: [new Uint8Array(10)] } },
];

/** What one server did, as medians of its rounds. */
interface Sample {
  readonly rate: number;
  readonly p99: number;
  /** Microseconds of CPU a call. */
  readonly cpu: number;
  /** Bytes allocated a call, of the rounds in which nothing was collected; undefined if there was no such round. */
  readonly allocation: number | undefined;
}

/** Servers that were measured side by side. */
interface Generation {
  readonly on: Sample;
  readonly off: readonly [Sample, Sample];
  /** The same number of servers in a process without observation. */
  readonly apart: readonly Sample[];
}

/**
 * What it costs a server to be watched: the same server with the instrument on and off, by turns, with unary calls, 32 in flight. Both
 * are in one process, for two processes that run the same differ by more than what is looked for. The second "off" shows how far
 * two servers that are the same differ in this run, and those of another process, what an instrument costs those that it does not watch.
 */
export async function benchObserving(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { kind, load, least } of kinds) {
    const measured: Generation[] = [];
    for (let i = 0; i < generations; i += 1) measured.push(await measureGeneration(kind, load));
    rows.push(...rowsOf(kind, measured, least));
  }
  return rows;
}

interface Ports {
  readonly ports: readonly number[];
}

async function measureGeneration(kind: string, load: Load): Promise<Generation> {
  const together = await startServing<Ports>("observing-server.js", [kind, "off", "on", "off"]);
  const alone = await startServing<Ports>("observing-server.js", [kind, "off", "off", "off"]);
  const measures = [together, alone].flatMap((process) =>
    process.ready.ports.map((port) => new Measure(process, port, load)),
  );
  for (let round = -warmUps; round < rounds; round += 1) {
    const order = round % 2 === 0 ? measures : [...measures].reverse();
    for (const measure of order) await measure.run(round >= 0);
  }
  // In shorter rounds of their own.
  for (let round = 0; round < roundsPerCount; round += 1) {
    for (const measure of measures) await measure.countAllocation();
  }
  await Promise.all([together.stop(), alone.stop()]);
  const [off, on, alsoOff, ...apart] = measures.map((measure) => measure.sample());
  return { on: on!, off: [off!, alsoOff!], apart };
}

/** The rounds of one server. */
class Measure {
  readonly #process: ServingProcess<Ports>;
  readonly #port: number;
  readonly #load: Load;
  readonly #rates: number[] = [];
  readonly #p99s: number[] = [];
  readonly #cpus: number[] = [];
  readonly #allocations: number[] = [];

  constructor(process: ServingProcess<Ports>, port: number, load: Load) {
    this.#process = process;
    this.#port = port;
    this.#load = load;
  }

  async run(counts: boolean): Promise<void> {
    const before = await this.#process.usage();
    const { callsPerSecond, p99Ms } = await runLoad(this.#port, this.#load, inFlight, callsPerRound);
    const after = await this.#process.usage();
    if (!counts) return;
    this.#rates.push(callsPerSecond);
    this.#p99s.push(p99Ms);
    this.#cpus.push((after.cpuMicros - before.cpuMicros) / callsPerRound);
  }

  async countAllocation(): Promise<void> {
    const before = await this.#process.usage();
    await runLoad(this.#port, this.#load, inFlight, callsPerCount);
    const after = await this.#process.usage();
    if (after.collections !== before.collections) return;
    this.#allocations.push((after.heapBytes - before.heapBytes) / callsPerCount);
  }

  sample(): Sample {
    return {
      rate: median(this.#rates),
      p99: median(this.#p99s),
      cpu: median(this.#cpus),
      allocation: this.#allocations.length === 0 ? undefined : median(this.#allocations),
    };
  }
}

function rowsOf(kind: string, measured: readonly Generation[], least: number | undefined): Row[] {
  const watched = kind === "grpc-js" ? "grpc-js, its own channelz" : kind;
  const row = (work: string, unit: string, read: (sample: Sample) => number | undefined): Row & Comparison => {
    const pairs = measured.flatMap(({ on, off }) => {
      const [watchedValue, ...values] = [on, ...off].map(read);
      return values.map((value) => [watchedValue, value] as const);
    });
    return { work: `${watched}: ${work}`, ...compared(pairs, unit), goal: "" };
  };
  const rates = row("calls a second", "calls/s", ({ rate }) => rate);
  return [
    {
      ...rates,
      ...(least !== undefined && { goal: `at least ${least.toFixed(3)}`, isMet: rates.ratio >= least }),
    },
    row("CPU of the server", "µs/call", ({ cpu }) => cpu),
    row("allocated by the server", "bytes/call", ({ allocation }) => allocation),
    row("99th percentile", "ms", ({ p99 }) => p99),
    {
      work: `${watched}: off against off`,
      ...compared(
        measured.map(({ off: [one, other] }) => [one.rate, other.rate] as const),
        "calls/s",
      ),
      goal: "",
    },
    {
      work: `${watched}: off (left) against a process without`,
      ...compared(
        measured.flatMap(({ off, apart }) =>
          off.flatMap(({ rate }) => apart.map((other) => [rate, other.rate] as const)),
        ),
        "calls/s",
      ),
      goal: "",
    },
  ];
}

interface Comparison {
  readonly ours: string;
  readonly theirs: string;
  readonly ratio: number;
}

/** Compares what was measured side by side, by the mean of the ratios. */
function compared(pairs: readonly (readonly [number | undefined, number | undefined])[], unit: string): Comparison {
  const known = pairs.filter((pair): pair is readonly [number, number] => !pair.includes(undefined));
  const logs = known.map(([one, other]) => Math.log(one / other));
  return {
    ours: `${figure(median(known.map(([one]) => one)))} ${unit}`,
    theirs: `${figure(median(known.map(([, other]) => other)))} ${unit}`,
    ratio: Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length),
  };
}
