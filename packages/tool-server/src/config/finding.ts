import type { ErrorParts } from "../errors.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import type { Position } from "./json-with-positions.js";
import type { RuleCode } from "./rules.js";

/** How bad a finding is: an error keeps an entry from working or from being safe, a warning may, a note is for knowing. */
export type Severity = "error" | "warning" | "note";

/** The keys and indices that lead to a value. */
export type JsonPath = readonly (string | number)[];

/** One thing that is wrong with a configuration. It never holds a secret. */
export interface Finding extends Position {
  /** The rule that is broken. */
  readonly code: RuleCode;
  readonly severity: Severity;
  /** What is wrong, in a sentence. */
  readonly message: string;
  /** The way to the value in the file; empty where it is about the file itself. */
  readonly path: JsonPath;
  /** What to write or do instead. */
  readonly fix: string;
  /** The server whose entry it is about. */
  readonly server?: string | undefined;
  /** The variable whose value it is about. */
  readonly variable?: string | undefined;
  /** The file that line and column are of, where it is not the configuration. */
  readonly file?: string | undefined;
}

/** Where a finding is reported: a place of the file, as fields and members have it. */
export interface Place extends Position {
  readonly path: JsonPath;
  readonly server?: string | undefined;
  /** The variable whose value is judged. */
  readonly variable?: string | undefined;
}

/** Takes a finding. */
export type Report = (code: RuleCode, severity: Severity, place: Place, message: string, fix: string) => void;

/** A list of findings, and the function that adds to it. */
export function collectFindings(): { readonly findings: Finding[]; readonly report: Report } {
  const findings: Finding[] = [];
  return {
    findings,
    report(code, severity, { path, line, column, server, variable }, message, fix) {
      const about = variable === undefined ? {} : { variable };
      findings.push({ code, severity, message, path, line, column, fix, server, ...about });
    },
  };
}

/** Findings as the problem and the advice of an error; the advice for each of several stays with its problem. */
export function partsOfFindings(findings: readonly Pick<Finding, "message" | "fix">[]): ErrorParts {
  const [first] = findings;
  if (findings.length === 1 && first !== undefined) return { problem: first.message, advice: first.fix };
  return { problem: findings.map(({ message, fix }) => `${message} ${fix}`).join(" "), advice: "" };
}

/** A path as people write it: `mcpServers.github.headers["X-API-Key"]`. */
export function formatPath(path: JsonPath): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[A-Za-z_][\w-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}

/** A name of the file in quotes, and cut where it is longer than anybody reads. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 63)}…` : name);
}

/** The findings in the order of the file, each once. */
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

/** The finding with every known secret taken out. */
export function redactFinding(finding: Finding, secrets: SecretRegistry): Finding {
  const { message, fix, path, server } = finding;
  return {
    ...finding,
    message: secrets.redact(message),
    fix: secrets.redact(fix),
    path: path.map((step) => (typeof step === "string" ? secrets.redact(step) : step)),
    server: server && secrets.redact(server),
  };
}

const severities: readonly Severity[] = ["error", "warning", "note"];
