import { ToolServerError } from "../errors.js";
import { findSecretShapes, isSecretName } from "../secrets/recognize-secrets.js";
import type { SecretRegistry } from "../secrets/redactor.js";
import { isReserved } from "./check-variables.js";
import { readConfigurationFile } from "./configuration-file.js";
import type { Finding, Report, SourcePosition } from "./finding.js";
import type { ResolvedEntry, Variables } from "./substitute-entry.js";

/** A shorter value, such as "test", is too often an ordinary word. */
const minSecretLength = 8;

/**
 * Adds the variables of `envFile` to an entry; those of `env` take precedence. Values that are named or look like secrets are
 * registered. Rejects with VARIABLE_UNUSABLE if the file cannot be read or parsed.
 */
export async function withEnvFile<Resolved extends ResolvedEntry>(
  resolved: Resolved,
  secrets: SecretRegistry,
): Promise<Resolved> {
  if (resolved.type !== "stdio" || resolved.envFile === undefined) return resolved;
  const subject = `Cannot use server ${JSON.stringify(resolved.name)}.`;
  const { variables, findings } = await readEnvFile(resolved.envFile, (problem, advice) => {
    throw new ToolServerError("VARIABLE_UNUSABLE", { subject, problem, advice });
  });
  const [wrong] = findings;
  if (wrong !== undefined) {
    const problem = `${resolved.envFile}:${wrong.line}: ${wrong.message}`;
    throw new ToolServerError("VARIABLE_UNUSABLE", { subject, problem, advice: wrong.fix });
  }
  const given = Object.entries(variables).filter(([name]) => !isReserved(name));
  for (const [name, value] of given) {
    if (value.length < minSecretLength) continue;
    if (isSecretName(name) || findSecretShapes(value).length > 0) secrets.add(value);
  }
  return { ...resolved, env: { ...Object.fromEntries(given), ...resolved.env } };
}

/** Checks the file of an entry's `envFile`: reports one that cannot be read, and returns the findings about its lines. */
export async function checkEnvFile(field: SourcePosition, file: string, report: Report): Promise<readonly Finding[]> {
  const { findings } = await readEnvFile(file, (problem, advice) => {
    report("env-file-unreadable", "error", field, problem, advice);
    return { variables: {}, findings: [] };
  });
  return findings;
}

/** Reads an environment file, or returns what `onUnreadable` returns. */
async function readEnvFile(file: string, onUnreadable: (problem: string, advice: string) => EnvFile): Promise<EnvFile> {
  try {
    return parseEnvFile(await readConfigurationFile(file), file);
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return onUnreadable(
      error.problem,
      error.advice || "Create the file or make it readable, or correct envFile in the entry.",
    );
  }
}

/** The content of an environment file. */
export interface EnvFile {
  readonly variables: Readonly<Record<string, string>>;
  /** The lines that could not be parsed, without values. */
  readonly findings: readonly Finding[];
}

/**
 * Parses an environment file: one `NAME=value` per line, with or without `export`; `#` starts a comment at the start of a line or after white
 * space; values in double quotes support `\n`, `\t`, `\"`, `\\` and `\$`, values in single quotes are literal, and both may span several lines.
 * Nothing is expanded. If a name is set twice, the last value wins.
 */
export function parseEnvFile(source: string, file: string): EnvFile {
  const text = source.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const variables = Object.create(null) as Record<string, string>;
  const findings: Finding[] = [];
  const endOfLine = (from: number): number => {
    const end = text.indexOf("\n", from);
    return end === -1 ? text.length : end;
  };
  let line = 0;
  let next = 0;
  while (next < text.length) {
    const start = next;
    const end = endOfLine(start);
    next = end + 1;
    line += 1;
    const report = (message: string, fix: string): void => {
      findings.push({ code: "env-file-syntax", severity: "error", message, path: [], line, column: 1, fix, file });
    };
    const content = text.slice(start, end);
    if (/^\s*(?:#|$)/.test(content)) continue;
    const [head = "", name] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*/.exec(content) ?? [];
    if (name === undefined) {
      report("The line is not NAME=value.", "Write NAME=value, or start a comment with #.");
      continue;
    }
    const quote = content.charAt(head.length);
    if (quote !== '"' && quote !== "'") {
      variables[name] = content
        .slice(head.length)
        .replace(/(?:^|\s)#.*$/, "")
        .trimEnd();
      continue;
    }
    const open = start + head.length + 1;
    const close = closing(text, open, quote);
    // The lines after a missing quote are parsed as separate lines.
    if (close === -1) report(`The value of ${name} has no closing ${quote}.`, `End the value with ${quote}.`);
    else if (!/^\s*(?:#.*)?$/.test(text.slice(close + 1, endOfLine(close)))) {
      if (close < end) report(`Text follows the value of ${name}.`, "End the line after the value.");
      else {
        const problem = `The value of ${name} has no closing ${quote} on its line, and text follows the next ${quote}.`;
        report(problem, `End the value with ${quote}, and the line after it.`);
      }
    } else {
      const value = text.slice(open, close);
      variables[name] = quote === "'" ? value : readEscapes(value);
      next = endOfLine(close) + 1;
      line += value.split("\n").length - 1;
    }
  }
  return { variables, findings };
}

const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function readEscapes(value: string): string {
  return value.replace(/\\([nrt"\\$])/g, (_, letter: string) => escapes[letter] ?? letter);
}

function closing(text: string, from: number, quote: string): number {
  for (let index = from; index < text.length; index += 1) {
    if (text[index] === "\\" && quote === '"') index += 1;
    else if (text[index] === quote) return index;
  }
  return -1;
}

/** Merges the variables of files and of the environment, which takes precedence; also returns the findings in the files. */
export async function readVariables(
  files: readonly string[],
  environment: Variables,
): Promise<{ readonly variables: Variables; readonly findings: readonly Finding[] }> {
  const read = await Promise.all(files.map(async (file) => parseEnvFile(await readConfigurationFile(file), file)));
  return {
    variables: Object.assign({}, ...read.map(({ variables }) => variables), environment),
    findings: read.flatMap(({ findings }) => findings),
  };
}
