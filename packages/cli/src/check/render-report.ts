import { printableText } from "@wirescope/channelz";
import {
  type CheckReport,
  type Finding,
  formatPath,
  neededVariables,
  variablesToMarkdown,
} from "@wirescope/tool-server";
import type { Paint } from "../output/colour.js";
import type { Screen } from "../output/screen.js";
import { countBySeverity } from "./severity.js";
import { wrap } from "./wrap.js";

/** The lines of a report, as people read them. `nameOf` gives the name of a file as it is shown. */
export function renderReport(
  report: CheckReport,
  file: string,
  nameOf: (file: string) => string,
  screen: Screen,
): string[] {
  const { palette } = screen;
  const lines = report.findings.flatMap((finding) => [
    ...renderFinding(finding, nameOf(finding.file ?? file), screen),
    "",
  ]);
  const variables = neededVariables(report.uses);
  if (variables.length > 0) {
    lines.push(palette.strong("Variables that the plugin needs, for its README:"), "");
    lines.push(...variablesToMarkdown(variables).map((line) => printableText(line)), "");
  }
  return [...lines, summary(report, nameOf(file), screen)];
}

function renderFinding(finding: Finding, file: string, { palette, width }: Screen): string[] {
  const { code, severity, line, column, message, fix, path } = finding;
  const paint: Paint = { error: palette.bad, warning: palette.warning, note: palette.faint }[severity];
  const place = `${printableText(file)}:${line}:${column}`;
  const where = path.length === 0 ? [] : wrap(printableText(formatPath(path)), width, "  ").map(palette.faint);
  return [
    `${palette.strong(place)}  ${paint(severity)}  ${code}`,
    ...where,
    ...wrap(printableText(message), width, "  "),
    ...wrap(printableText(`→ ${fix}`), width, "  ").map(palette.good),
  ];
}

function summary({ servers, findings }: CheckReport, file: string, { palette }: Screen): string {
  const counts = countBySeverity(findings);
  const count = `${servers.length} ${servers.length === 1 ? "server" : "servers"}`;
  const parts = (["error", "warning", "note"] as const).flatMap((severity) => {
    const number = counts[severity];
    if (number === 0) return [];
    const paint = { error: palette.bad, warning: palette.warning, note: palette.faint }[severity];
    return [paint(`${number} ${severity}${number === 1 ? "" : "s"}`)];
  });
  const verdict = parts.length === 0 ? palette.good("nothing wrong") : parts.join(", ");
  return `${printableText(file)}: ${count}, ${verdict}`;
}
