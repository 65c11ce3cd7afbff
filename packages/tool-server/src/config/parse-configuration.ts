import { ToolServerError } from "../errors.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import { suggest } from "../suggest.js";
import { checkSecrets } from "./check-secrets.js";
import { checkHeaders, checkUrl } from "./check-url-and-headers.js";
import { checkTemplate } from "./check-variables.js";
import { readConfigurationFile } from "./configuration-file.js";
import { type DialectName, dialectOfEntry, dialectOfFile } from "./dialects.js";
import { type Entry, type StdioEntry, templateFieldsOf } from "./entry.js";
import { type FoundServers, findServers, parseText } from "./find-servers.js";
import { collectFindings, type Finding, type Report, redactFinding, sortFindings } from "./finding.js";
import type { InputDefinition } from "./inputs.js";
import { type JsonProblem, maxProblems } from "./json-with-positions.js";
import { parseEntry } from "./parse-entry.js";
import type { RuleCode } from "./rules.js";
import { parseTemplate } from "./template.js";
import { usesOAuth } from "./variable-uses.js";

/** A parsed configuration: the entries that could be parsed, and all findings. */
export interface Configuration {
  /** The format of the file; an entry may have another. */
  readonly dialect: DialectName;
  readonly entries: readonly Entry[];
  /** The values that users are asked for. */
  readonly inputs: readonly InputDefinition[];
  /** In file order. An entry that was parsed can still have errors, which make it unusable. */
  readonly findings: readonly Finding[];
}

/** Options for parsing a configuration. */
export interface ParseConfigurationOptions {
  /** The path of the file, whose name can identify the dialect. Default: only the content is used. */
  readonly file?: string | undefined;
  /** Where secrets that are written into the file are registered; default a new registry. */
  readonly secrets?: SecretRegistry;
}

/**
 * Parses a configuration of any known dialect and checks everything that the file alone determines. Runs nothing, reads no variables and
 * connects to nothing. Findings contain no secrets, not even those that are written into the file.
 */
export function parseConfiguration(text: string, options: ParseConfigurationOptions = {}): Configuration {
  const { file, secrets = createSecretRegistry() } = options;
  const { findings, report } = collectFindings();
  const { root, problems } = parseText(text, file);
  const fileDialect = dialectOfFile(file);
  const servers: FoundServers =
    root?.kind === "object"
      ? findServers(root, file, report)
      : { dialect: fileDialect ?? "claude-code", entryDialect: "claude-code", members: [], inputs: [] };
  reportProblems(problems, servers, report);
  if (root !== undefined && root.kind !== "object") {
    const fix = 'Write {"mcpServers": {"name": {"type": "http", "url": "https://…"}}}.';
    report("file-shape", "error", { ...root, path: [] }, "The file is not a JSON object.", fix);
  }
  const { dialect, inputs } = servers;
  const entries: Entry[] = [];
  for (const { member, path } of servers.members) {
    const own = fileDialect ?? dialectOfEntry(member.value, path[0]) ?? servers.entryDialect;
    const entry = parseEntry(member, path, { dialect: own, inputs, report, file });
    if (entry === undefined) continue;
    checkFields(entry, dialect, secrets, report);
    entries.push(entry);
  }
  const redacted = sortFindings(findings).map((finding) => redactFinding(finding, secrets));
  return { dialect, entries, inputs, findings: redacted };
}

/** Reads a configuration of any known dialect. Rejects with CONFIGURATION_UNREADABLE. */
export async function readConfiguration(
  file: string,
  options: Omit<ParseConfigurationOptions, "file"> = {},
): Promise<Configuration> {
  return parseConfiguration(await readConfigurationFile(file), { ...options, file });
}

const problemCodes: Readonly<Record<JsonProblem["kind"], RuleCode>> = {
  syntax: "json-syntax",
  "too-deep": "json-syntax",
  "too-large": "json-syntax",
  "duplicate-key": "json-duplicate-key",
};

/**
 * Reports the problems of the file's text. A repeated key makes unusable the entry that it is in, or that has the same name as another;
 * nothing, if another program uses it; else the whole file, as other problems do, because it is unknown which servers are meant.
 */
function reportProblems(
  problems: readonly JsonProblem[],
  { dialect, members }: Pick<FoundServers, "dialect" | "members">,
  report: Report,
): void {
  const containers = [...new Map(members.map(({ path }) => [path.join("\n"), path])).values()];
  // An object with servers may be inside another one.
  containers.sort((a, b) => b.length - a.length);
  // Above the limit, a repeated key may not be among the problems. The servers in a registry file are not keys.
  const isWhole = dialect === "server-json" || containers.length === 0 || problems.length >= maxProblems;
  for (const { kind, line, column, message, fix, path } of problems) {
    const container = containers.find((each) => path.length > each.length && each.every((key, at) => path[at] === key));
    const server = container && path[container.length];
    const isUsed = container !== undefined || containers.some((each) => each[0] === path[0]);
    if (isWhole || path.length === 0 || path[0] === "inputs" || (isUsed && typeof server !== "string")) {
      report(problemCodes[kind], "error", { line, column, path: [] }, message, fix);
    } else {
      const severity = isUsed ? "error" : "warning";
      report(problemCodes[kind], severity, { line, column, path, server: server?.toString() }, message, fix);
    }
  }
}

/** Whether an entry runs `wirescope bridge`, by its name or by Node and its file. */
function isBridge(entry: Entry): entry is StdioEntry {
  if (entry.type !== "stdio") return false;
  const words = [entry.command, ...entry.args].map(({ template }) => template.text);
  const at = words.findIndex((word) => /(?:^|[\\/])wirescope(?:\.js|\.cmd|\.exe)?$/i.test(word));
  return at !== -1 && words[at + 1] === "bridge";
}

function checkFields(entry: Entry, dialect: DialectName, secrets: SecretRegistry, report: Report): void {
  const bridgeVariables = isBridge(entry) ? new Set(entry.env.map(({ name }) => name)) : undefined;
  const isForeign = entry.dialect !== "claude-code";
  for (const field of templateFieldsOf(entry)) checkTemplate(field, report, { bridgeVariables, isForeign });
  // The files of other programs belong to one user, and some formats have no variables.
  const reportSecret: Report = (code, severity, ...rest) =>
    report(code, (isForeign || dialect !== "claude-code") && severity === "error" ? "warning" : severity, ...rest);
  for (const secret of checkSecrets(entry, reportSecret)) secrets.add(secret);
  if (entry.type === "stdio") return;
  checkUrl(entry, report);
  // The output is not known: only the name and the prefix are checked.
  const commands = entry.secretCommands
    .filter(({ target }) => target === "header")
    .map((command) => ({ ...command, template: parseTemplate(`${command.prefix || "Bearer "}output`) }));
  checkHeaders([...entry.headers, ...commands], entry.dialect, report);
  if (entry.oauth !== undefined && !usesOAuth(entry)) {
    const position = { ...entry, path: [...entry.path, "oauth"] };
    const message = "oauth has no effect, because the entry has its own credential or a type that does not use OAuth.";
    report("oauth-unused", "note", position, message, "Remove it, or remove the credential.");
  }
  const authorization = entry.headers.find(({ name }) => name.toLowerCase() === "authorization");
  if (entry.headersHelper !== undefined && authorization !== undefined) {
    const message =
      "The entry has both an Authorization header and a helper. If the helper returns Authorization, its value is sent.";
    const fix = "Keep only one of them.";
    report("helper-and-authorization", "note", authorization, message, fix);
  }
}

/** Why a server with a disabled entry is not used, and how to enable it. */
export function disabledParts(name: string): { readonly problem: string; readonly advice: string } {
  return {
    problem: `The configuration disables the server ${JSON.stringify(name)}.`,
    advice: 'To use it, remove "disabled": true or "enabled": false from its entry.',
  };
}

/** The error for a server name that is not in the configuration, with a suggestion. */
export function unknownServer(
  name: string,
  { entries }: Pick<Configuration, "entries">,
  redact: (text: string) => string = (text) => text,
): ToolServerError {
  const names = entries.map((entry) => entry.name);
  const close = suggest(name, names);
  const guess = close === undefined ? "" : `Did you mean ${JSON.stringify(close)}? `;
  const list = names.length === 0 ? "It has no servers." : `Servers: ${names.join(", ")}.`;
  const problem = redact(`The configuration has no server ${JSON.stringify(name)}.`);
  return new ToolServerError("SERVER_UNKNOWN", { problem, advice: redact(`${guess}${list}`) });
}
