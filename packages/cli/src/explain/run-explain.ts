import { formatRelative, printableText } from "@wirescope/channelz/internal/text";
import type { Snapshot } from "@wirescope/channelz/timeline";
import { exitCode } from "../failure.js";
import { eachSnapshot, type LiveTask } from "../live/live-task.js";
import { parseDuration } from "../option-values.js";
import { formatJson, jsonOf } from "../output/json.js";
import type { Paint, Screen } from "../output/screen.js";
import { wrap } from "../output/text-layout.js";
import { explain, type RuleFinding } from "./explain.js";
import { counted, createObservation, nameOf } from "./finding.js";
import { defaultThresholds } from "./thresholds.js";

interface ExplainValues {
  readonly json: boolean;
  readonly for: string | undefined;
}

/** Reads for a while, applies the rules, and prints the findings. Returns the exit code: 1 if there is an error or a warning. */
export async function runExplain({ sampler, screen, values, signal }: LiveTask<ExplainValues>): Promise<number> {
  const { recorded } = sampler;
  const forMs = values.for === undefined ? undefined : parseDuration(values.for, "--for");
  // In a recording, everything up to the chosen moment.
  const endMs = recorded?.chosenMs ?? recorded?.lastMs ?? 0;
  const within = recorded && { firstMs: forMs === undefined ? recorded.firstMs : endMs - forMs, lastMs: endMs };
  const durationMs = forMs ?? 2000;
  // A slow or busy process is read less often than the interval says. It is observed for longer, so that it is not reported as healthy
  // because a rule needs more reads.
  const wantedReads = Math.min(defaultThresholds.minReads, Math.floor(durationMs / sampler.cost().intervalMs));
  const snapshots: Snapshot[] = [];
  let reads = 0;
  const onSnapshot = (snapshot: Snapshot): true | undefined => {
    reads += 1;
    keepSome(snapshots, snapshot);
    const [first = snapshot] = snapshots;
    const isEnough = reads > 1 && reads >= wantedReads && snapshot.timeMs - first.timeMs >= durationMs;
    return isEnough && recorded === undefined ? true : undefined;
  };
  await eachSnapshot(sampler, signal, onSnapshot, within);
  const seen = createObservation(snapshots);
  if (seen === undefined) return exitCode.interrupted;
  const { findings, omitted } = explain(seen);
  if (values.json) screen.print(formatJson(jsonOf({ findings: findings.map(toJson), omitted })));
  else {
    for (const finding of findings) screen.printAll([...render(finding, screen), ""]);
    const more = omitted === 0 ? "" : ` ${omitted} more are not shown.`;
    const count = findings.length === 0 ? "Nothing found" : counted(findings.length, "finding");
    screen.print(`${count} in ${counted(seen.objects.length, "object")}, read ${counted(reads, "time")}.${more}`);
  }
  return findings.some(({ severity }) => severity !== "note") ? exitCode.failure : exitCode.ok;
}

/** The rules need no more reads than this, and one read of a large process takes megabytes. */
const maxKept = 32;

/** Adds a read. If there are too many, drops every second one, but not the first or the newest. */
export function keepSome(snapshots: Snapshot[], newest: Snapshot): void {
  snapshots.push(newest);
  if (snapshots.length <= maxKept) return;
  const kept = snapshots.filter((snapshot, index) => index % 2 === 0 || snapshot === newest);
  snapshots.splice(0, snapshots.length, ...kept);
}

function render({ severity, problem, evidence, advice, since, rule }: RuleFinding, screen: Screen): string[] {
  const { palette, width, now } = screen;
  const paint: Paint = severity === "error" ? palette.bad : severity === "warning" ? palette.warning : palette.plain;
  const when = since === undefined ? "" : ` Since ${formatRelative(since, now)}.`;
  const [first = "", ...rest] = wrap(printableText(`${severity}: ${problem}${when} (${rule})`), width, "");
  return [
    paint(first),
    ...rest.map(paint),
    ...evidence.flatMap((line) => wrap(printableText(line), width, "  ")),
    ...wrap(printableText(`→ ${advice}`), width, "  "),
  ];
}

function toJson({ objects, since, ...finding }: RuleFinding): object {
  return { ...finding, since: since?.toISOString(), objects: objects.map(nameOf) };
}
