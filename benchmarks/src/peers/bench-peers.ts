import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Caller, httpCaller } from "../caller.js";
import { median } from "../compare.js";
import { callInFlight, rateOf } from "../in-flight.js";
import { costRow, figure, printProgress, type Row, rateRow } from "../report.js";
import { startServing } from "../serving-process.js";
import { installPeers } from "./install-peers.js";
import { type Program, type RunningProgram, startProgram } from "./program.js";
import { type Topology, topologiesOf } from "./topologies.js";

/** How often each program is started and measured: two starts of the same program differ by up to 15 %. */
const starts = 3;
const rounds = 5;
// What is measured is a program that has run for a while, and not the compiler. A single call may take another path than one of many.
// Twice, because some programs load more a few seconds after their start, and are compiled again.
const warmUps = 2;
const warmUpCalls = 2000;
// After a pause, calls are slower for about 100 ms, through whatever program: these are not measured.
const settlingCalls = 300;
const loads = [
  { inFlight: 1, calls: 1000 },
  { inFlight: 16, calls: 2000 },
  { inFlight: 64, calls: 2000 },
] as const;
const callsPerProgram = rounds * loads.reduce((sum, { calls }) => sum + settlingCalls + calls, 0);
const mostAdded = 1 / 3;

/** What was measured of one program. */
interface Figures {
  readonly startMs: number;
  /** Undefined if the system does not report it. */
  readonly residentMb: number | undefined;
  /** CPU time that the program itself took for a call, whatever else the machine did. */
  readonly cpuMicros: number | undefined;
  /** Microseconds of a call, one at a time. */
  readonly callMicros: number;
  /** Calls in a second, by how many were in flight. */
  readonly rates: ReadonlyMap<number, number>;
}

/** The same calls through us and through those who lead clients to servers too, each started as a user starts it. */
export async function benchPeers(): Promise<Row[]> {
  const raw = await startServing("raw-tool-server.js", ["http"]);
  const url = `http://127.0.0.1:${raw.ready.port}/mcp`;
  const folder = mkdtempSync(join(tmpdir(), "wirescope-peers-"));
  const rows: Row[] = [];
  try {
    const topologies = topologiesOf(url, folder, await installPeers());
    const total = starts * topologies.reduce((sum, { peers }) => sum + Math.max(1, peers.length), 0);
    let begun = 0;
    const onStart = (what: string): void => {
      begun += 1;
      printProgress(`${what} (${begun} of ${total})`);
    };
    for (const topology of topologies) rows.push(...(await compareIn(topology, url, folder, onStart)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await raw.stop();
  }
  return rows;
}

async function compareIn(
  topology: Topology,
  url: string,
  folder: string,
  onStart: (what: string) => void,
): Promise<Row[]> {
  const { name, ours, peers, leastRate } = topology;
  const titleOf = (our: Program): string =>
    ours.length === 1 ? name : `${name}: ${our.name.replace("wirescope ", "")}`;
  const rows: Row[] = [];
  // Each peer by itself: what else is measured in a run moves its figures.
  for (const peer of peers.length === 0 ? [undefined] : peers) {
    const report = (): void => onStart(peer === undefined ? name : `${name}, ${peer.name}`);
    const measured = await measure(ours, peer, url, folder, report);
    if (measured === undefined) {
      rows.push({ work: `${name}: ${peer?.name}`, ours: "", theirs: "does not run here", goal: "" });
      continue;
    }
    const { direct, figures } = measured;
    for (const our of ours) {
      const [title, one] = [titleOf(our), figures.get(our)!];
      if (peer === undefined) rows.push(...rowsAlone(title, one, direct));
      else {
        const goals = peer.isReference ? {} : { mostAdded, leastRate };
        rows.push(...rowsBeside(`${title}, ${peer.name}`, one, figures.get(peer)!, direct, goals));
      }
    }
  }
  return rows;
}

/** What was measured of programs that ran together. */
interface Run {
  readonly direct: Measured;
  readonly figures: ReadonlyMap<Program, Figures>;
}

/** The median of several starts; undefined if the peer does not start. */
async function measure(
  ours: readonly Program[],
  peer: Program | undefined,
  url: string,
  folder: string,
  onStart: () => void,
): Promise<Run | undefined> {
  const runs: Run[] = [];
  for (let start = 0; start < starts; start += 1) {
    onStart();
    const run = await measureOnce(ours, peer, url, folder);
    if (run === undefined) return undefined;
    runs.push(run);
  }
  const programs = [...runs[0]!.figures.keys()];
  return {
    direct: medianOfMeasured(runs.map((run) => run.direct)),
    figures: new Map(programs.map((program) => [program, medianOf(runs.map((run) => run.figures.get(program)!))])),
  };
}

/** Starts the programs, measures them, and stops them; undefined if the peer does not start. */
async function measureOnce(
  ours: readonly Program[],
  peer: Program | undefined,
  url: string,
  folder: string,
): Promise<Run | undefined> {
  const running: RunningProgram[] = [];
  const direct = httpCaller(url, "echo");
  try {
    await direct.begin();
    for (const program of ours) running.push(await startProgram(program, folder));
    if (peer !== undefined) {
      try {
        running.push(await startProgram(peer, folder));
      } catch (error) {
        console.error(`${peer.name} is left out: ${(error as Error).message}`);
        return undefined;
      }
    }
    const callers = [direct, ...running.map(({ caller }) => caller)];
    for (let warmUp = 0; warmUp < warmUps; warmUp += 1) {
      for (const caller of callers) {
        for (const { inFlight } of loads) await callInFlight(caller.call, inFlight, warmUpCalls);
      }
    }
    const before = running.map((program) => program.usage());
    const measured = await measureAll(callers);
    const figures = running.map((program, index): [Program, Figures] => {
      const [then, now] = [before[index], program.usage()];
      const own = {
        startMs: program.startMs,
        residentMb: now?.residentMb,
        cpuMicros: then && now && (now.cpuMicros - then.cpuMicros) / callsPerProgram,
      };
      return [program.program, { ...measured.get(program.caller)!, ...own }];
    });
    return { direct: measured.get(direct)!, figures: new Map(figures) };
  } finally {
    direct.close();
    await Promise.all(running.map((program) => program.stop()));
  }
}

type Measured = Pick<Figures, "callMicros" | "rates">;

/** Measures all of them in turn, so that other work on the machine affects them alike. */
async function measureAll(callers: readonly Caller[]): Promise<ReadonlyMap<Caller, Measured>> {
  const rates = new Map(
    callers.map((caller) => [caller, new Map(loads.map(({ inFlight }) => [inFlight, [] as number[]]))]),
  );
  for (let round = 0; round < rounds; round += 1) {
    for (const { inFlight, calls } of loads) {
      for (const caller of round % 2 === 0 ? callers : [...callers].reverse()) {
        await callInFlight(caller.call, inFlight, settlingCalls);
        rates
          .get(caller)!
          .get(inFlight)!
          .push(await rateOf(caller.call, inFlight, calls));
      }
    }
  }
  return new Map(
    callers.map((caller) => {
      const medians = new Map([...rates.get(caller)!].map(([inFlight, values]) => [inFlight, median(values)]));
      return [caller, { rates: medians, callMicros: 1e6 / medians.get(1)! }];
    }),
  );
}

/** The median of each figure over several starts. */
function medianOf(all: readonly Figures[]): Figures {
  const overIfKnown = (read: (figures: Figures) => number | undefined): number | undefined => {
    const known = all.flatMap((figures) => read(figures) ?? []);
    return known.length === 0 ? undefined : median(known);
  };
  return {
    ...medianOfMeasured(all),
    startMs: median(all.map(({ startMs }) => startMs)),
    residentMb: overIfKnown(({ residentMb }) => residentMb),
    cpuMicros: overIfKnown(({ cpuMicros }) => cpuMicros),
  };
}

function medianOfMeasured(all: readonly Measured[]): Measured {
  return {
    callMicros: median(all.map(({ callMicros }) => callMicros)),
    rates: new Map(loads.map(({ inFlight }) => [inFlight, median(all.map(({ rates }) => rates.get(inFlight)!))])),
  };
}

interface Goals {
  /** What we may add to a single call, in what the peer adds. Default: no goal. */
  readonly mostAdded?: number | undefined;
  /** Calls in a second with 16 in flight, in those of the peer. Default: no goal. */
  readonly leastRate?: number | undefined;
}

function rowsBeside(name: string, ours: Figures, theirs: Figures, direct: Measured, goals: Goals): Row[] {
  const added = [ours, theirs].map(({ callMicros }) => Math.max(1, callMicros - direct.callMicros)) as [number, number];
  const cost = (work: string, unit: string, our: number | undefined, their: number | undefined): readonly Row[] =>
    our === undefined || their === undefined ? [] : [costRow(`${name}: ${work}`, unit, our, their, our / their)];
  return [
    costRow(`${name}: added to a call, 1 in flight`, "µs", ...added, added[0] / added[1], goals.mostAdded),
    ...[16, 64].map((inFlight) => {
      const [our, their] = [ours.rates.get(inFlight)!, theirs.rates.get(inFlight)!];
      return rateRow(
        `${name}: ${inFlight} in flight`,
        "calls/s",
        our,
        their,
        inFlight === 16 ? goals.leastRate : undefined,
      );
    }),
    ...cost("CPU of a call", "µs", ours.cpuMicros, theirs.cpuMicros),
    ...cost("start to the first tool list", "ms", ours.startMs, theirs.startMs),
    ...cost("resident memory", "MB", ours.residentMb, theirs.residentMb),
  ];
}

/** Without a peer to compare with. */
function rowsAlone(name: string, ours: Figures, direct: Measured): Row[] {
  const row = (work: string, value: number, unit: string): Row => {
    return { work: `${name}: ${work}`, ours: `${figure(value)} ${unit}`, theirs: "-", goal: "" };
  };
  return [
    row("added to a call, 1 in flight", Math.max(1, ours.callMicros - direct.callMicros), "µs"),
    ...[16, 64].map((inFlight) => row(`${inFlight} in flight`, ours.rates.get(inFlight)!, "calls/s")),
    ...(ours.cpuMicros === undefined ? [] : [row("CPU of a call", ours.cpuMicros, "µs")]),
    row("start to the first tool list", ours.startMs, "ms"),
    ...(ours.residentMb === undefined ? [] : [row("resident memory", ours.residentMb, "MB")]),
  ];
}
