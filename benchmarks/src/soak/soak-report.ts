import type { Census } from "./census.js";
import { growthOf, type SoakOutcome } from "./run-soak.js";

/** What the gateway may keep of all that it has seen, such as counters by method and compiled code, in bytes. */
const keptBytes = 6 * 1024 * 1024;
/** What it holds for an entry of a configuration. Each server keeps the whole configuration that it was made from. */
const entryBytes = 3 * 1024;

/** The faults of a soak, one sentence each. Empty if it passed. */
export function faultsOf({ ledger, servers, cold, warm, after, leftOver }: SoakOutcome): readonly string[] {
  const heap = after.heapBytes - warm.heapBytes;
  const unexplained = [...ledger.failures.values()].filter((kind) => kind.unexplained > 0);
  return [
    ...ledger.crossTalk.slice(0, 20).map((text) => `Cross-talk: ${text}.`),
    ...unexplained.map(({ unexplained: count, example }) => `${count} failures that nothing explains: ${example}`),
    ...growthOf(after, cold).map((text) => `Left open: ${text}.`),
    ...(heap > keptBytes + entryBytes * servers ** 2 ? [`The heap has grown by ${mebibytes(heap)}.`] : []),
    ...leftOver.map((text) => `Not settled: ${text}.`),
    ...(ledger.counts.responses === 0 ? ["No call got a response."] : []),
  ];
}

/** The outcome as lines for people. */
export function reportOf(outcome: SoakOutcome): readonly string[] {
  const { ledger, cold, warm, peak, after, pauseMs } = outcome;
  const counts = Object.entries(ledger.counts).map(([name, count]) => `${name} ${count}`);
  const failures = [...ledger.failures].map(([kind, { count, unexplained, causes }]) => {
    const why = [...causes].map(([cause, times]) => `${times} ${cause}`);
    return `  ${count} × ${kind} (${[...why, ...(unexplained > 0 ? [`${unexplained} UNEXPLAINED`] : [])].join(", ")})`;
  });
  const faults = faultsOf(outcome);
  return [
    counts.join(", "),
    `cross-talk ${ledger.crossTalk.length}`,
    `longest time from a disturbance to the next response: ${Math.round(ledger.longestOutageMs)} ms`,
    `longest pause of the gateway's event loop: ${Math.round(pauseMs)} ms`,
    failures.length === 0 ? "no call failed" : "calls that failed, and what the churn had done to their server:",
    ...failures,
    row("", "before", "first wave", "peak", "after"),
    ...rows.map(([name, value]) => row(name, ...[cold, warm, peak, after].map(value))),
    faults.length === 0 ? "PASSED" : "FAILED",
    ...faults.map((fault) => `  ${fault}`),
  ];
}

const rows: readonly (readonly [string, (census: Census) => string])[] = [
  ["sockets", ({ sockets }) => `${sockets}`],
  ["open files", ({ files }) => `${files}`],
  ["processes", ({ processes }) => `${processes}`],
  ["heap", ({ heapBytes }) => mebibytes(heapBytes)],
  ["resident", ({ residentBytes }) => mebibytes(residentBytes)],
  ["CPU", ({ cpuMs }) => `${(cpuMs / 1000).toFixed(1)} s`],
  ["channels", ({ registry }) => `${registry.channels}`],
  ["subchannels", ({ registry }) => `${registry.subchannels}`],
  ["registry's sockets", ({ registry }) => `${registry.sockets}`],
  ["registry's closed", ({ registry }) => `${registry.closed}`],
];

function row(name: string, ...cells: readonly string[]): string {
  return `  ${name.padEnd(20)}${cells.map((cell) => cell.padStart(12)).join("")}`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
