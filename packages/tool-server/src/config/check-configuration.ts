import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import { type CredentialSearch, createCredentialSearch, type KnownCredential } from "./credential-search.js";
import { readDocuments } from "./documents.js";
import type { Entry } from "./entry.js";
import { collectFindings, type Finding, type Report, redactFinding, sortFindings } from "./finding.js";
import { parseJsonWithPositions } from "./json-with-positions.js";
import { judgeDocuments, judgeFiles } from "./judge-credentials.js";
import { judgeDocumentation } from "./judge-documentation.js";
import { parseConfiguration } from "./parse-configuration.js";
import { type NeededPermissions, neededPermissions } from "./permission-table.js";
import { judgeCommand, judgeHelper } from "./programs.js";
import { substituteEntry, type Variables, type VariableUse, variableUses } from "./substitute-entry.js";
import { pluginRootVariable } from "./template.js";

/** What a configuration is checked with. */
export interface CheckOptions {
  /** The root directory of the plugin: the value of HOST_PLUGIN_ROOT, and where relative helpers are. */
  readonly pluginRoot: string;
  /** The variables to judge; undefined judges the file alone, as an author's build does who has none of them. */
  readonly variables: Variables | undefined;
  /** The environment files that the variables are from, to see whether they are kept out of version control. */
  readonly envFiles?: readonly string[];
  /** Whether http and ws are accepted for a loopback host; default false. */
  readonly allowInsecureLoopback?: boolean;
  /** Where secrets are made known; default a registry of its own. */
  readonly secrets?: SecretRegistry;
}

/** All that a check found. It holds no secret, not even one that stands where a name should. */
export interface CheckReport {
  /** The servers whose entries could be understood. */
  readonly servers: readonly { readonly name: string; readonly type: Entry["type"] }[];
  /** In the order of the file, each once; those about other files follow. */
  readonly findings: readonly Finding[];
  /** The variables that the entries refer to, by server and field, in the order of the file. */
  readonly uses: readonly VariableUse[];
  /** The servers whose use has to be permitted to somebody, in the order of the file. */
  readonly permissions: readonly NeededPermissions[];
}

/** Reads a configuration and says all that is wrong: in its text, its variables and its files. Runs nothing of it and connects to nothing. */
export async function checkConfiguration(text: string, options: CheckOptions): Promise<CheckReport> {
  const { pluginRoot, variables, envFiles = [], allowInsecureLoopback = false } = options;
  const secrets = options.secrets ?? createSecretRegistry();
  const { entries, findings } = parseConfiguration(text, { allowInsecureLoopback, secrets });
  const uses = entries.flatMap(variableUses);
  const { findings: more, report } = collectFindings();
  const context = { pluginRoot, path: variables?.PATH ?? "" };
  for (const entry of entries) {
    if (variables !== undefined) more.push(...substituteEntry(entry, { variables, pluginRoot, secrets }).findings);
    const program = programOf(entry, variables ?? {}, pluginRoot);
    if (program === undefined) continue;
    if (entry.type !== "stdio") await judgeHelper(entry, program, context, report);
    else if (variables !== undefined) await judgeCommand(entry, program, context, report);
  }
  const permissions = neededPermissions(entries);
  const documents = await readDocuments(pluginRoot);
  judgeDocumentation(entries, uses, permissions, documents, report);
  const search = createCredentialSearch(credentialsOf(uses, variables ?? {}));
  judgeComments(text, search, report);
  more.push(...judgeDocuments(documents, search));
  more.push(...(await judgeFiles(entries, pluginRoot, envFiles, search)));
  const all = sortFindings([...findings, ...more]).map((finding) => redactFinding(finding, secrets));
  return {
    servers: entries.map(({ name, type }) => ({ name: secrets.redact(name), type })),
    findings: all,
    uses: uses.map((use) => ({
      ...use,
      variable: secrets.redact(use.variable),
      server: secrets.redact(use.server),
      field: secrets.redact(use.field),
    })),
    permissions: permissions.map((needed) => ({
      ...needed,
      server: secrets.redact(needed.server),
      variables: needed.variables.map((variable) => secrets.redact(variable)),
    })),
  };
}

/** Finds credentials in the comments of the file; those in its fields are found by the rules of the fields. */
function judgeComments(text: string, search: CredentialSearch, report: Report): void {
  const { comments } = parseJsonWithPositions(text, { allowComments: true });
  // Everything else becomes blanks, so that lines and columns stay those of the file.
  const pieces: string[] = [];
  let at = 0;
  for (const { start, end } of comments) {
    pieces.push(text.slice(at, start).replace(/[^\r\n]/g, " "), text.slice(start, end));
    at = end;
  }
  for (const { line, column, what } of search(pieces.join(""), { findsAssignments: true })) {
    const fix = "Remove it, and replace the credential itself, because everyone with the file has it.";
    report("literal-secret", "error", { path: [], line, column }, `A comment contains ${what}.`, fix);
  }
}

function credentialsOf(uses: readonly VariableUse[], variables: Variables): KnownCredential[] {
  return uses.flatMap(({ variable, isSecret }) => {
    const value = isSecret && Object.hasOwn(variables, variable) ? variables[variable] : undefined;
    return value ? [{ variable, value }] : [];
  });
}

/** The helper or command of an entry, unless it needs a variable that is not set. */
function programOf(entry: Entry, variables: Variables, pluginRoot: string): string | undefined {
  const template = (entry.type === "stdio" ? entry.command : entry.headersHelper)?.template;
  const values = template?.parts.map((part) => {
    if (part.kind === "text") return part.text;
    return part.name === pluginRootVariable ? pluginRoot : variables[part.name] || part.fallback;
  });
  return values?.includes(undefined) ? undefined : values?.join("");
}
