import type { JsonObject } from "@bufbuild/protobuf";
import { printableText } from "@wirescope/channelz/internal";
import {
  type CheckReport,
  type Finding,
  formatPath,
  neededVariables,
  permissionsToMarkdown,
  rules,
  type Severity,
  variablesToMarkdown,
} from "@wirescope/tool-server/config";
import { exitCode } from "../failure.js";
import type { Paint, Screen } from "../output/screen.js";
import { wrap } from "../output/text-layout.js";

/** How many findings there are of each severity. */
function countBySeverity(findings: readonly Finding[]): Record<Severity, number> {
  const counts: Record<Severity, number> = { error: 0, warning: 0, note: 0 };
  for (const { severity } of findings) counts[severity] += 1;
  return counts;
}

/** The exit code of a check: 1 for errors, and for warnings if the check is strict. */
export function exitCodeOf(findings: readonly Finding[], isStrict: boolean): number {
  const { error, warning } = countBySeverity(findings);
  return error > 0 || (isStrict && warning > 0) ? exitCode.failure : exitCode.ok;
}

/** A report for scripts. */
export function reportToJson(report: CheckReport, file: string): JsonObject {
  return {
    file,
    counts: countBySeverity(report.findings),
    findings: report.findings.map((finding) => findingToJson(finding, file)),
    servers: report.servers.map(({ name, type }) => ({ name, type })),
    variables: neededVariables(report.uses).map(({ name, isRequired, isSecret, uses }) => ({
      name,
      isRequired,
      isSecret,
      uses: uses.map(({ server, field }) => ({ server, field })),
    })),
    permissions: report.permissions.map(({ server, by, variables, scopes }) => ({
      server,
      by,
      variables: [...variables],
      ...(scopes === undefined ? {} : { scopes: [...scopes] }),
    })),
  };
}

function findingToJson(finding: Finding, file: string): JsonObject {
  const { code, severity, message, fix, path, line, column, server } = finding;
  return {
    code,
    severity,
    rule: rules[code],
    message,
    fix,
    file: finding.file ?? file,
    line,
    column,
    path: formatPath(path),
    ...(server === undefined ? {} : { server }),
  };
}

/** The name of a file in the output. */
export type NameOf = (file: string) => string;

/** The lines of a report; without permissions if `isLive`, because the servers report those later. */
export function renderReport(
  report: CheckReport,
  file: string,
  nameOf: NameOf,
  screen: Screen,
  isLive: boolean,
): string[] {
  const { palette } = screen;
  const lines = renderFindings(report.findings, file, nameOf, screen);
  const variables = neededVariables(report.uses);
  if (variables.length > 0) {
    lines.push(palette.strong(`Required variables${forReadme(report)}:`), "");
    lines.push(...variablesToMarkdown(variables).map((line) => printableText(line)), "");
  }
  if (!isLive && report.isPlugin) lines.push(...renderPermissions(report, screen, "Use --live to ask the servers."));
  return [...lines, summary(report, nameOf(file), screen)];
}

/** The findings, each followed by an empty line. */
export function renderFindings(findings: readonly Finding[], file: string, nameOf: NameOf, screen: Screen): string[] {
  return findings.flatMap((finding) => [...renderFinding(finding, nameOf(finding.file ?? file), screen), ""]);
}

/** The table of permissions, followed by an empty line. `advice` is for unknown permissions. */
export function renderPermissions(
  report: Pick<CheckReport, "permissions" | "isPlugin">,
  { palette }: Screen,
  advice: string,
): string[] {
  const { permissions, isPlugin } = report;
  if (permissions.length === 0) return [];
  const isOpen = permissions.some(({ scopes = [] }) => scopes.length === 0);
  return [
    palette.strong(`Required permissions${forReadme(report)}:`),
    "",
    ...permissionsToMarkdown(permissions).map((line) => printableText(line)),
    ...(isOpen && isPlugin ? [palette.faint(`Replace … by hand. ${advice}`)] : []),
    "",
  ];
}

/** Those who install a plugin read its README. */
function forReadme({ isPlugin }: Pick<CheckReport, "isPlugin">): string {
  return isPlugin ? ", as a table for the README" : "";
}

function renderFinding(finding: Finding, file: string, { palette, width }: Screen): string[] {
  const { code, severity, line, column, message, fix, path } = finding;
  const paint: Paint = { error: palette.bad, warning: palette.warning, note: palette.faint }[severity];
  const position = `${printableText(file)}:${line}:${column}`;
  const where = path.length === 0 ? [] : wrap(printableText(formatPath(path)), width, "  ").map(palette.faint);
  return [
    `${palette.strong(position)}  ${paint(severity)}  ${code}`,
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
  const verdict = parts.length === 0 ? palette.good("no problems") : parts.join(", ");
  return `${printableText(file)}: ${count}, ${verdict}`;
}
