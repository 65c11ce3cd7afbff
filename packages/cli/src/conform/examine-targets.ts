import { writeFileSync } from "node:fs";
import type { ChannelzConnection, OriginSource } from "@wirescope/channelz";
import { checkConformance } from "@wirescope/channelz/conform";
import { ChannelzError } from "@wirescope/channelz/internal";
import { exitCode } from "../failure.js";
import { writeReasonOf } from "../file-failure.js";
import { formatJson } from "../output/json.js";
import type { Screen } from "../output/screen.js";
import { UsageError } from "../usage-error.js";
import { toJunit } from "./junit.js";
import { reportLines, reportToJson } from "./render-report.js";
import type { TargetReport } from "./target-report.js";

/** How targets are examined and reported. */
export interface ExamineTask {
  readonly parts: readonly (OriginSource & { readonly source: ChannelzConnection })[];
  readonly screen: Screen;
  readonly values: { readonly json: boolean; readonly all: boolean; readonly junit: string | undefined };
  readonly signal: AbortSignal;
}

/** Examines each target, prints the reports and returns the exit code. */
export async function examineTargets({ parts, screen, values, signal }: ExamineTask): Promise<number> {
  const reports: TargetReport[] = [];
  for (const { target, source } of parts) reports.push(await examine(target, source, signal));
  if (values.json) screen.print(formatJson(reports.map(reportToJson)));
  else for (const report of reports) screen.printAll(reportLines(report, screen, values.all));
  if (values.junit !== undefined) writeReport(values.junit, toJunit(reports));
  if (signal.aborted) return exitCode.interrupted;
  if (reports.some(({ report }) => report === undefined || report.stoppedBy !== undefined)) return exitCode.notExamined;
  return reports.every(({ report }) => report?.conforms) ? exitCode.ok : exitCode.failure;
}

async function examine(target: string, source: ChannelzConnection, signal: AbortSignal): Promise<TargetReport> {
  try {
    return { target, report: await checkConformance(source, { signal }) };
  } catch (error) {
    if (!ChannelzError.is(error)) throw error;
    return { target, error };
  }
}

function writeReport(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new UsageError(`Cannot write the file ${path} (--junit): ${writeReasonOf(error)}`);
  }
}
