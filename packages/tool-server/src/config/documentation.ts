import { opendir, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { commandLine } from "../command-line.js";
import { readBoundedFile } from "../files/bounded-file.js";
import type { Entry } from "./entry.js";
import { quoteName, type Report } from "./finding.js";
import { pathWithin } from "./named-file.js";
import { hasHeaderCommands, usesOAuth, type VariableUse, variableUses } from "./variable-uses.js";

/** A documentation file. */
export interface ProjectDocument {
  /** The absolute path. */
  readonly file: string;
  readonly text: string;
  /** `other` is another file in the root, such as a changelog. */
  readonly kind: "readme" | "docs" | "other";
}

// The project may be hostile: limit how much of it is read.
const [maxFiles, maxDepth, maxEntries] = [200, 5, 2_000];
const [maxFileBytes, maxBytes] = [1_048_576, 4_194_304];

/**
 * Reads the README, the other documentation files in the root, and those in the folders `docs`, `doc` or `documentation`: at most 200 files of
 * at most 1 MiB each, 4 MiB in total, five folders deep. Follows symbolic links only to files inside the root, and never to folders.
 */
export async function readDocuments(pluginRoot: string): Promise<ProjectDocument[]> {
  const root = await realpath(pluginRoot).catch(() => pluginRoot);
  const names: Pick<ProjectDocument, "file" | "kind">[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const { name, isFolder } of await entriesOf(folder)) {
      const file = join(folder, name);
      if (isFolder) {
        const isDocs = depth > 0 || /^(?:docs?|documentation)$/i.test(name);
        if (isDocs && depth < maxDepth) await visit(file, depth + 1);
      } else if (depth === 0 && /^readme(?:\.\w+)?$/i.test(name)) names.push({ file, kind: "readme" });
      else if (/\.(?:md|mdx|markdown|rst|adoc|txt|html?)$/i.test(name)) {
        names.push({ file, kind: depth === 0 ? "other" : "docs" });
      }
    }
  };
  await visit(pluginRoot, 0);
  // The README first, so that the limit never drops it.
  names.sort((a, b) => Number(b.kind === "readme") - Number(a.kind === "readme") || (a.file < b.file ? -1 : 1));
  const documents: ProjectDocument[] = [];
  let left = maxBytes;
  for (const { file, kind } of names.slice(0, maxFiles)) {
    const text = await readWithin(root, file, Math.min(maxFileBytes, left));
    if (text === undefined) continue;
    left -= text.length;
    documents.push({ file, kind, text });
  }
  return documents;
}

/** The content of the README; undefined if there is none that can be read. */
export async function readReadme(pluginRoot: string): Promise<string | undefined> {
  return (await readDocuments(pluginRoot)).find(({ kind }) => kind === "readme")?.text;
}

/** The content of a regular file; undefined if it cannot be read, or if a symbolic link points outside `root`, which must be a real path. */
export async function readWithin(root: string, file: string, maxSize: number): Promise<string | undefined> {
  try {
    const real = await realpath(file);
    if (pathWithin(root, real) === undefined) return undefined;
    return (await readBoundedFile(real, { maxBytes: maxSize, followLinks: false })).toString("utf8");
  } catch {
    return undefined;
  }
}

async function entriesOf(folder: string): Promise<{ readonly name: string; readonly isFolder: boolean }[]> {
  const entries: { readonly name: string; readonly isFolder: boolean }[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (entries.length === maxEntries) break;
      entries.push({ name: basename(entry.name), isFolder: entry.isDirectory() });
    }
  } catch {
    // A folder that cannot be listed has no files to read.
  }
  return entries;
}

/** Reports what the README and the documentation should mention but do not. */
export function checkDocumentation(
  entries: readonly Entry[],
  uses: readonly VariableUse[],
  permissions: readonly NeededPermissions[],
  documents: readonly ProjectDocument[],
  report: Report,
): void {
  const [entry] = entries;
  if (entry === undefined) return;
  const texts = documents.filter(({ kind }) => kind !== "other").map(({ text }) => text);
  if (!documents.some(({ kind }) => kind === "readme")) {
    const message = "There is no README that lists the variables and permissions the servers need.";
    const position = { path: [], line: 1, column: 1 };
    const fix = `Add a README.md with the tables that ${commandLine("check")} prints.`;
    report("readme-missing", uses.length > 0 ? "warning" : "note", position, message, fix);
    if (texts.length === 0) return;
  }
  const named = new Set<string>();
  for (const { variable, server } of uses) {
    const user = entries.find(({ name }) => name === server);
    const pattern = new RegExp(`\\b${variable}\\b`);
    if (user === undefined || named.has(variable) || texts.some((text) => pattern.test(text))) continue;
    named.add(variable);
    const message = `Neither the README nor the docs mention ${variable}.`;
    report("variable-undocumented", "warning", user, message, "Add the table of variables to the README.");
  }
  const first = entries.find(({ name }) => name === permissions[0]?.server);
  if (first === undefined || texts.some(mentionsPermissions)) return;
  const servers = permissions.map(({ server }) => quoteName(server)).join(", ");
  const message = `Neither the README nor the docs list the permissions that ${servers} needs.`;
  report("permissions-undocumented", "note", first, message, "Add the table of permissions to the README.");
}

/** The permissions that a server needs, and how requests authenticate. */
export interface NeededPermissions {
  readonly server: string;
  /** OAuth, if the server requires it; secrets in the user's variables; or headers from a helper. */
  readonly by: "oauth" | "variables" | "helper";
  /** The variables that contain the secrets. */
  readonly variables: readonly string[];
  /** The scopes that the server names; undefined if it was not contacted, or names none. */
  readonly scopes: readonly string[] | undefined;
}

/** The permissions needed by each entry that signs in or uses a secret, in file order. Contacts no server. */
export function neededPermissions(entries: readonly Entry[]): NeededPermissions[] {
  return entries.flatMap((entry): NeededPermissions[] => {
    const { name: server } = entry;
    const secret = variableUses(entry).filter(({ isSecret }) => isSecret);
    const variables = [...new Set(secret.map(({ variable }) => variable))];
    if (usesOAuth(entry)) return [{ server, by: "oauth", variables, scopes: undefined }];
    if (entry.type !== "stdio" && (entry.headersHelper !== undefined || hasHeaderCommands(entry)))
      return [{ server, by: "helper", variables, scopes: undefined }];
    return variables.length === 0 ? [] : [{ server, by: "variables", variables, scopes: undefined }];
  });
}

/** The permissions as a Markdown table for a project's README. Unknown permissions are `…`, for the author to fill in. */
export function permissionsToMarkdown(permissions: readonly NeededPermissions[]): string[] {
  const rows = permissions.map(({ server, by, variables, scopes = [] }) => {
    const secrets = variables.map(codeCellOf).join(", ");
    const way = { oauth: "by OAuth", helper: "by a helper", variables: `with ${secrets}` }[by];
    return [cellOf(server), way, scopes.length === 0 ? "…" : scopes.map(codeCellOf).join(", ")];
  });
  return markdownTable(["Server", "Signs in", "Permissions"], rows);
}

function mentionsPermissions(readme: string): boolean {
  return /\b(?:permissions?|scopes?)\b/i.test(readme);
}

/** The scopes that a README does not mention. */
export function scopesUndocumented({ scopes = [] }: NeededPermissions, readme: string): string[] {
  // Not within a longer one: `notes:read` is not named by `notes:readwrite`.
  const isNamed = (scope: string): boolean =>
    new RegExp(`(?<![\\w:./-])${scope.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w:/-]|\\.\\w)`).test(readme);
  return scopes.filter((scope) => !isNamed(scope));
}

/** A variable that a configuration needs, and its uses. */
export interface NeededVariable {
  readonly name: string;
  /** Whether at least one field has no default for it. */
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly uses: readonly { readonly server: string; readonly field: string }[];
}

/** The variables of a configuration, each once, in file order. */
export function neededVariables(uses: readonly VariableUse[]): NeededVariable[] {
  return [...new Set(uses.map(({ variable }) => variable))].map((name) => {
    const own = uses.filter(({ variable }) => variable === name);
    return {
      name,
      isRequired: own.some(({ hasDefault }) => !hasDefault),
      isSecret: own.some(({ isSecret }) => isSecret),
      uses: own.map(({ server, field }) => ({ server, field })),
    };
  });
}

/** The variables as a Markdown table for the README. */
export function variablesToMarkdown(variables: readonly NeededVariable[]): string[] {
  const rows = variables.flatMap(({ name, isRequired, isSecret, uses }) =>
    uses.map(({ server, field }) => [
      `\`${name}\``,
      cellOf(server),
      codeCellOf(field),
      isRequired ? "required" : "optional",
      isSecret ? "secret" : "",
    ]),
  );
  return markdownTable(["Variable", "Server", "Field", "Needed", "Kind"], rows);
}

/** Escapes a string for a cell of a Markdown table. */
function cellOf(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ").replace(/[\\|`]/g, "\\$&");
}

/** Formats a string as code in a cell of a Markdown table. */
function codeCellOf(text: string): string {
  return `\`${cellOf(text.replaceAll("`", "'"))}\``;
}

/** A Markdown table with aligned columns. */
function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = heading.map((_, column) => Math.max(3, ...[heading, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(heading), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}
