import type { ErrorParts } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import type { JsonPath, Position } from "./json-with-positions.js";
import type { RuleCode } from "./rules.js";

/** An error makes an entry unusable or unsafe, a warning may do so, a note is for information. */
export type Severity = "error" | "warning" | "note";

/** A problem in a configuration. It never contains a secret. */
export interface Finding extends Position {
  /** The violated rule. */
  readonly code: RuleCode;
  readonly severity: Severity;
  /** The problem, in a sentence. */
  readonly message: string;
  /** The path of the value in the file; empty if the finding is about the file itself. */
  readonly path: JsonPath;
  /** How to fix it. */
  readonly fix: string;
  /** The server of the entry. */
  readonly server?: string | undefined;
  /** The variable whose value is wrong. */
  readonly variable?: string | undefined;
  /** The file that line and column refer to, if it is not the configuration. */
  readonly file?: string | undefined;
  /** The parts of the fix, for programs. */
  readonly suggested?: Suggestion | undefined;
}

/** What a fix suggests. */
export interface Suggestion {
  /** The variable for a value that is written into the file. */
  readonly variable?: string | undefined;
  /** What to write at the position, as JSON. */
  readonly write?: string | undefined;
}

/** The position that a finding is reported at. */
export interface SourcePosition extends Position {
  readonly path: JsonPath;
  readonly server?: string | undefined;
  /** The variable whose value is checked. */
  readonly variable?: string | undefined;
}

/** Reports a finding. */
export type Report = (
  code: RuleCode,
  severity: Severity,
  position: SourcePosition,
  message: string,
  fix: string,
  suggested?: Suggestion,
) => void;

/** Creates a list of findings and the function that adds to it. */
export function collectFindings(): { readonly findings: Finding[]; readonly report: Report } {
  const findings: Finding[] = [];
  return {
    findings,
    report(code, severity, { path, line, column, server, variable }, message, fix, suggested) {
      const about = {
        ...(variable === undefined ? {} : { variable }),
        ...(suggested === undefined ? {} : { suggested }),
      };
      findings.push({ code, severity, message, path, line, column, fix, server, ...about });
    },
  };
}

/** Findings as the problem and advice of an error. With several findings, each fix follows its message. */
export function partsOfFindings(findings: readonly Pick<Finding, "message" | "fix">[]): ErrorParts {
  const [first] = findings;
  if (first !== undefined && findings.every(({ fix }) => fix === first.fix))
    return { problem: findings.map(({ message }) => message).join(" "), advice: first.fix };
  return { problem: findings.map(({ message, fix }) => `${message} ${fix}`).join(" "), advice: "" };
}

/** Formats a path: `mcpServers.github.headers["X-API-Key"]`. */
export function formatPath(path: JsonPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[A-Za-z_][\w-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}

/** A name from the file in quotes, truncated to 64 characters. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 63)}…` : name);
}

/** The findings in file order, without duplicates. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const unique = new Map(
    findings.map((finding) => [
      JSON.stringify([finding.code, finding.path, finding.message, finding.file, finding.file && finding.line]),
      finding,
    ]),
  );
  return [...unique.values()].sort(
    (a, b) =>
      (a.file ?? "").localeCompare(b.file ?? "") ||
      a.line - b.line ||
      a.column - b.column ||
      severities.indexOf(a.severity) - severities.indexOf(b.severity),
  );
}

/** The finding with every known secret redacted. */
export function redactFinding(finding: Finding, secrets: SecretRegistry): Finding {
  const { message, fix, path, server, suggested } = finding;
  return {
    ...finding,
    message: secrets.redact(message),
    fix: secrets.redact(fix),
    path: path.map((step) => (typeof step === "string" ? secrets.redact(step) : step)),
    server: server && secrets.redact(server),
    suggested: suggested && {
      variable: suggested.variable && secrets.redact(suggested.variable),
      write: suggested.write && secrets.redact(suggested.write),
    },
  };
}

const severities: readonly Severity[] = ["error", "warning", "note"];
