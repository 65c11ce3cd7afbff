import { carriageReturnAdvice, hasCarriageReturn, resolveCommand } from "../process/resolve-command.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import { judgeDocumentation, type NeededPermissions, neededPermissions, readDocuments } from "./documentation.js";
import type { Entry } from "./entry.js";
import { collectFindings, type Finding, type Report, redactFinding, sortFindings } from "./finding.js";
import { parseJsonWithPositions } from "./json-with-positions.js";
import {
  type CredentialSearch,
  createCredentialSearch,
  judgeDocuments,
  judgeFiles,
  type KnownCredential,
} from "./judge-credentials.js";
import { parseConfiguration } from "./parse-configuration.js";
import { substituteEntry, type Variables } from "./substitute-entry.js";
import { pluginRootVariable } from "./template.js";
import { type VariableUse, variableUses } from "./variable-uses.js";

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

/** Where programs are looked for. */
export interface ProgramContext {
  readonly pluginRoot: string;
  /** The PATH that the process of a command gets. */
  readonly path: string;
}

/** Says where the command of a stdio entry is not there or cannot be run. Nothing is run. */
export async function judgeCommand(
  entry: Entry,
  command: string,
  context: ProgramContext,
  report: Report,
): Promise<void> {
  if (entry.type !== "stdio") return;
  const found = await resolveCommand(command, context.pluginRoot, context.path);
  if (found.kind === "found") return;
  const isThere = found.kind === "not-executable";
  const where = command.includes("/") ? "at its path" : "in PATH";
  const message = isThere ? "The command is there, but cannot be run." : `The command is not found ${where}.`;
  const fix = /\s/.test(command)
    ? "Put the program alone into command, and each of its arguments into args; no shell takes the line apart."
    : isThere
      ? "Make it executable: chmod +x."
      : "Install it, or write its path.";
  report("command-not-found", "warning", entry.command, message, fix);
}

/** Says where a helper is not there or cannot be run. Nothing is run. */
export async function judgeHelper(
  entry: Entry,
  helper: string | undefined,
  { pluginRoot }: ProgramContext,
  report: Report,
): Promise<void> {
  if (entry.type === "stdio" || entry.headersHelper === undefined || helper === undefined) return;
  // A helper is a path, also where it has no slash: it is not searched for.
  const found = await resolveCommand(helper.includes("/") ? helper : `./${helper}`, pluginRoot, "");
  if (found.kind === "found") {
    if (!(await hasCarriageReturn(found.path))) return;
    const message = "The helper cannot be run.";
    report("helper-not-executable", "error", entry.headersHelper, message, carriageReturnAdvice(found.path));
    return;
  }
  const isDirectory = found.kind === "not-executable" && found.isDirectory;
  if (found.kind === "not-executable" && !isDirectory) {
    const fix = "Make it executable with chmod +x, and keep that in git: git update-index --chmod=+x.";
    report("helper-not-executable", "error", entry.headersHelper, "The helper cannot be run by this user.", fix);
    return;
  }
  const message = isDirectory ? "The helper is a directory." : "The helper does not exist, or cannot be reached.";
  const fix = /\s/.test(helper)
    ? "Write the path of a script without arguments: no shell splits the line. Let a script of your own pass them."
    : "Write the path of a script, from the plugin's root: ${HOST_PLUGIN_ROOT}/scripts/headers.sh.";
  report("helper-missing", "error", entry.headersHelper, message, fix);
}
