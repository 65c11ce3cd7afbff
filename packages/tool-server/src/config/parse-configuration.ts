import { ToolServerError } from "../errors.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import { suggest } from "../suggest.js";
import { checkSecrets } from "./check-secrets.js";
import { checkHeaders, checkUrl } from "./check-url-and-headers.js";
import { checkTemplate } from "./check-variables.js";
import { type Entry, type StdioEntry, templateFieldsOf } from "./entry.js";
import {
  collectFindings,
  type Finding,
  type JsonPath,
  quoteName,
  type Report,
  redactFinding,
  type SourcePosition,
  sortFindings,
} from "./finding.js";
import { type JsonMember, type JsonNode, type JsonProblem, parseJsonWithPositions } from "./json-with-positions.js";
import { parseEntry } from "./parse-entry.js";
import type { RuleCode } from "./rules.js";
import { usesOAuth } from "./variable-uses.js";

/** A parsed configuration: the entries that could be parsed, and all findings. */
export interface Configuration {
  readonly entries: readonly Entry[];
  /** In file order. An entry that was parsed can still have errors, which make it unusable. */
  readonly findings: readonly Finding[];
}

/** How to parse a configuration. */
export interface ParseConfigurationOptions {
  /** Whether http and ws are accepted for a loopback host; default false. */
  readonly allowInsecureLoopback?: boolean;
  /** Where secrets that are written into the file are registered; default a new registry. */
  readonly secrets?: SecretRegistry;
}

/**
 * Parses a configuration and checks everything that the file alone determines. Runs nothing, reads no variables and connects to nothing.
 * Findings contain no secrets, not even those that are written into the file.
 */
export function parseConfiguration(text: string, options: ParseConfigurationOptions = {}): Configuration {
  const { allowInsecureLoopback = false, secrets = createSecretRegistry() } = options;
  const { findings, report } = collectFindings();
  const { root, problems } = parseJsonWithPositions(text, { allowComments: true });
  for (const problem of problems) {
    report(problemCodes[problem.kind], "error", { ...problem, path: [] }, problem.message, problem.fix);
  }
  const entries: Entry[] = [];
  if (root !== undefined && root.kind !== "object") {
    const fix = 'Write {"mcpServers": {"name": {"type": "http", "url": "https://…"}}}.';
    report("file-shape", "error", { ...root, path: [] }, "The file is not a JSON object.", fix);
  } else if (root !== undefined) {
    const { members, path } = serversOf(root.members, { ...root, path: [] }, report);
    for (const member of members) {
      const entry = parseEntry(member, path, allowInsecureLoopback, report);
      if (entry === undefined) continue;
      checkFields(entry, secrets, report);
      entries.push(entry);
    }
  }
  return { entries, findings: sortFindings(findings).map((finding) => redactFinding(finding, secrets)) };
}

const problemCodes: Readonly<Record<JsonProblem["kind"], RuleCode>> = {
  syntax: "json-syntax",
  "too-deep": "json-syntax",
  "too-large": "json-syntax",
  "duplicate-key": "json-duplicate-key",
};

/** The members that are entries, at the top level or in mcpServers. */
function serversOf(
  all: readonly JsonMember[],
  root: SourcePosition,
  report: Report,
): { readonly members: readonly JsonMember[]; readonly path: JsonPath } {
  const members = all.filter(({ key }) => key !== "$schema");
  const wrapper = members.find(({ key }) => key === "mcpServers");
  if (wrapper === undefined) {
    const other = members.find(holdsServers);
    if (other !== undefined) {
      const message = `The servers are in ${quoteName(other.key)}, which other programs use.`;
      const fix = `Rename ${quoteName(other.key)} to "mcpServers".`;
      report("file-shape", "error", { ...other.keyAt, path: [other.key] }, message, fix);
      return { members: [], path: [] };
    }
    if (members.length === 0) {
      const fix = 'Add one: {"mcpServers": {"name": {"type": "http", "url": "https://…"}}}.';
      report("file-shape", "warning", root, "The file contains no servers.", fix);
    }
    return { members, path: [] };
  }
  for (const { key, keyAt } of members.filter((member) => member !== wrapper)) {
    const message = `${quoteName(key)} next to mcpServers is ignored.`;
    report(
      "file-shape",
      "error",
      { ...keyAt, path: [key] },
      message,
      "If it is a server, move it into mcpServers; otherwise remove it.",
    );
  }
  const path = ["mcpServers"];
  if (wrapper.value.kind === "object") {
    if (wrapper.value.members.length === 0) {
      const fix = 'Add one: "name": {"type": "http", "url": "https://…"}.';
      report("file-shape", "warning", { ...wrapper.keyAt, path }, "The file contains no servers.", fix);
    }
    return { members: wrapper.value.members, path };
  }
  report("file-shape", "error", { ...wrapper.keyAt, path }, "mcpServers is not an object.", 'Write {"name": {…}}.');
  return { members: [], path };
}

/** Whether a member is not an entry but an object that contains entries. */
function holdsServers({ value }: JsonMember): boolean {
  if (value.kind !== "object" || isEntry(value)) return false;
  return value.members.some((member) => isEntry(member.value));
}

function isEntry(value: JsonNode): boolean {
  return value.kind === "object" && value.members.some(({ key }) => key === "url" || key === "command");
}

/** Whether an entry runs `wirescope bridge`, by its name or by Node and its file. */
function isBridge(entry: Entry): entry is StdioEntry {
  if (entry.type !== "stdio") return false;
  const words = [entry.command, ...entry.args].map(({ template }) => template.text);
  const at = words.findIndex((word) => /(?:^|[\\/])wirescope(?:\.js|\.cmd|\.exe)?$/i.test(word));
  return at !== -1 && words[at + 1] === "bridge";
}

function checkFields(entry: Entry, secrets: SecretRegistry, report: Report): void {
  const bridgeVariables = isBridge(entry) ? new Set(entry.env.map(({ name }) => name)) : undefined;
  for (const field of templateFieldsOf(entry)) checkTemplate(field, report, bridgeVariables);
  for (const secret of checkSecrets(entry, report)) {
    // A short literal, such as "test", would be redacted in every sentence.
    if (secret.length >= 8) secrets.add(secret);
  }
  if (entry.type === "stdio") return;
  checkUrl(entry, report);
  checkHeaders(entry.headers, report);
  if (entry.oauth !== undefined && !usesOAuth(entry)) {
    const position = { ...entry, path: [...entry.path, "oauth"] };
    const message = "oauth has no effect, because the entry has its own credential or a type that does not use OAuth.";
    report("oauth-unused", "note", position, message, "Remove it, or remove the credential.");
  }
  const authorization = entry.headers.find(({ name }) => name.toLowerCase() === "authorization");
  if (entry.headersHelper !== undefined && authorization !== undefined) {
    report(
      "helper-and-authorization",
      "note",
      authorization,
      "The entry has both an Authorization header and a helper. If the helper returns Authorization, its value is sent.",
      "Keep only one of them.",
    );
  }
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
