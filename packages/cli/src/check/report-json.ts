import type { JsonObject } from "@bufbuild/protobuf";
import { type CheckReport, type Finding, formatPath, neededVariables, rules } from "@wirescope/tool-server/config";
import { countBySeverity } from "./severity.js";

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
