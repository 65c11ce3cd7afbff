import { carriageReturnAdvice, hasCarriageReturn, resolveCommand } from "../process/resolve-command.js";
import { createSecretRegistry, type SecretRegistry } from "../secrets/redactor.js";
import {
  type CredentialSearch,
  checkDocuments,
  checkFiles,
  createCredentialSearch,
  type KnownCredential,
} from "./check-credentials.js";
import { checkDocumentation, type NeededPermissions, neededPermissions, readDocuments } from "./documentation.js";
import type { Entry, NetworkEntry, StdioEntry } from "./entry.js";
import { checkEnvFile } from "./env-file.js";
import { parseText } from "./find-servers.js";
import { collectFindings, type Finding, type Report, redactFinding, sortFindings } from "./finding.js";
import { parseConfiguration } from "./parse-configuration.js";
import { substituteEntry, type Variables, variableValue } from "./substitute-entry.js";
import { pluginRootVariable } from "./template.js";
import { type VariableUse, variableUses } from "./variable-uses.js";

/** Options of a check. */
export interface CheckOptions {
  /** The path of the configuration, whose name can identify the dialect. Default: only the content is used. */
  readonly file?: string | undefined;
  /** The root directory of the plugin or project: the value of HOST_PLUGIN_ROOT, and the base of relative helper paths. */
  readonly pluginRoot: string;
  /** Whether others install it, so that its documentation is checked too. Default true. */
  readonly isPlugin?: boolean | undefined;
  /** The variables to check; if undefined, only the file is checked, for example in CI where none of them is set. */
  readonly variables: Variables | undefined;
  /** The environment files that the variables come from, to check that git ignores them. */
  readonly envFiles?: readonly string[];
  /** Where secrets are registered; default a new registry. */
  readonly secrets?: SecretRegistry;
}

/** The result of a check. It contains no secret, not even one that was written in place of a name. */
export interface CheckReport {
  readonly isPlugin: boolean;
  /** The servers whose entries could be parsed. */
  readonly servers: readonly { readonly name: string; readonly type: Entry["type"] }[];
  /** In file order, without duplicates; findings about other files come last. */
  readonly findings: readonly Finding[];
  /** The variables that the entries use, by server and field, in file order. */
  readonly uses: readonly VariableUse[];
  /** The servers whose users need permissions, in file order. */
  readonly permissions: readonly NeededPermissions[];
}

/** Validates a configuration: its content, its variables and its files. Runs none of its programs and connects to no server. */
export async function checkConfiguration(text: string, options: CheckOptions): Promise<CheckReport> {
  const { pluginRoot, isPlugin = true, variables, envFiles = [] } = options;
  const secrets = options.secrets ?? createSecretRegistry();
  const { entries, findings } = parseConfiguration(text, { file: options.file, secrets });
  const uses = entries.flatMap(variableUses);
  const { findings: more, report } = collectFindings();
  const context = { pluginRoot, path: variables?.PATH ?? "" };
  for (const entry of entries) {
    const values = variables && substituteEntry(entry, { variables, pluginRoot, secrets });
    if (values !== undefined) more.push(...values.findings);
    if (entry.type === "stdio" && entry.envFile !== undefined && values?.entry?.type === "stdio") {
      const { envFile = "" } = values.entry;
      if (!envFiles.includes(envFile)) more.push(...(await checkEnvFile(entry.envFile, envFile, report)));
    }
    const workingDirectory = values?.entry?.type === "stdio" ? values.entry.cwd : pluginRoot;
    const program = programOf(entry, variables ?? {}, pluginRoot);
    if (program === undefined) continue;
    if (entry.type !== "stdio") await checkHelper(entry, program, context, report);
    else if (variables !== undefined)
      await checkCommand(entry, program, { ...context, pluginRoot: workingDirectory }, report);
  }
  const permissions = neededPermissions(entries);
  const documents = await readDocuments(pluginRoot);
  if (isPlugin) checkDocumentation(entries, uses, permissions, documents, report);
  const search = createCredentialSearch(credentialsOf(uses, variables ?? {}));
  checkComments(text, options.file, search, report);
  more.push(...checkDocuments(documents, search));
  more.push(...(await checkFiles(entries, pluginRoot, envFiles, search)));
  const all = sortFindings([...findings, ...more]).map((finding) => redactFinding(finding, secrets));
  return {
    isPlugin,
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
function checkComments(text: string, file: string | undefined, search: CredentialSearch, report: Report): void {
  const { comments } = parseText(text, file);
  // Everything else becomes blanks, so that lines and columns stay those of the file.
  const pieces: string[] = [];
  let at = 0;
  for (const { start, end } of comments) {
    pieces.push(text.slice(at, start).replace(/[^\r\n]/g, " "), text.slice(start, end));
    at = end;
  }
  for (const { line, column, what } of search(pieces.join(""), { findsAssignments: true })) {
    const fix = "Remove it, and replace the credential, because everyone with access to the file has it.";
    report("literal-secret", "error", { path: [], line, column }, `A comment contains ${what}.`, fix);
  }
}

function credentialsOf(uses: readonly VariableUse[], variables: Variables): KnownCredential[] {
  return uses.flatMap(({ variable, isSecret }) => {
    const value = isSecret ? variableValue(variable, variables) : undefined;
    return value ? [{ variable, value }] : [];
  });
}

/** The helper or command of an entry; undefined if it needs a variable that is not set. */
function programOf(entry: Entry, variables: Variables, pluginRoot: string): string | undefined {
  const template = (entry.type === "stdio" ? entry.command : entry.headersHelper)?.template;
  const values = template?.parts.map((part) => {
    if (part.kind === "text") return part.text;
    return part.name === pluginRootVariable ? pluginRoot : variables[part.name] || part.fallback;
  });
  return values?.includes(undefined) ? undefined : values?.join("");
}

export interface ProgramContext {
  readonly pluginRoot: string;
  /** The PATH of the command's process. */
  readonly path: string;
}

/** Reports a command of a stdio entry that does not exist or is not executable. Does not run it. */
export async function checkCommand(
  entry: StdioEntry,
  command: string,
  context: ProgramContext,
  report: Report,
): Promise<void> {
  const found = await resolveCommand(command, context.pluginRoot, context.path);
  if (found.kind === "found") return;
  const exists = found.kind === "not-executable";
  const where = command.includes("/") ? "at its path" : "in PATH";
  const message = exists ? "The command exists but is not executable." : `The command was not found ${where}.`;
  const fix = /\s/.test(command)
    ? "Put only the program into command and each argument into args; there is no shell that splits the line."
    : exists
      ? "Make it executable: chmod +x."
      : "Install it, or write its full path.";
  report("command-not-found", "warning", entry.command, message, fix);
}

/** Reports a helper that does not exist or is not executable. Does not run it. */
async function checkHelper(
  entry: NetworkEntry,
  helper: string,
  { pluginRoot }: ProgramContext,
  report: Report,
): Promise<void> {
  if (entry.headersHelper === undefined) return;
  // A helper is always a path, even without a slash; PATH is not searched.
  const found = await resolveCommand(helper.includes("/") ? helper : `./${helper}`, pluginRoot, "");
  if (found.kind === "found") {
    if (!(await hasCarriageReturn(found.path))) return;
    const message = "The helper cannot be run.";
    report("helper-not-executable", "error", entry.headersHelper, message, carriageReturnAdvice(found.path));
    return;
  }
  const isDirectory = found.kind === "not-executable" && found.isDirectory;
  if (found.kind === "not-executable" && !isDirectory) {
    const fix = "Make it executable with chmod +x, and record that in git with git update-index --chmod=+x.";
    const message = "The helper is not executable by the current user.";
    report("helper-not-executable", "error", entry.headersHelper, message, fix);
    return;
  }
  const message = isDirectory ? "The helper is a directory." : "The helper does not exist or is not accessible.";
  const fix = /\s/.test(helper)
    ? "Write the path of a script without arguments; there is no shell that splits the line. Pass arguments in a wrapper script."
    : "Write the path of a script, such as ${HOST_PLUGIN_ROOT}/scripts/headers.sh.";
  report("helper-missing", "error", entry.headersHelper, message, fix);
}
