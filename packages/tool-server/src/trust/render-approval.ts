import { type ApprovalSubject, flattenForm } from "./approval.js";
import type { ApprovalDescription, DescribedField, DescribedVariable } from "./describe-for-approval.js";
import { type FileFingerprint, isUnchecked } from "./fingerprint-entry.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";

const maxRows = 200;

const kinds: Readonly<Record<ApprovalDescription["type"], string>> = {
  http: "is a network server (http)",
  sse: "is a network server (sse)",
  ws: "is a network server (ws)",
  stdio: "is a local program (stdio)",
};

/** The description as lines of plain ASCII. Strings of the entry cannot break lines or control the terminal. */
export function renderApproval(description: ApprovalDescription): string[] {
  const { server, type, url, origin, command, args, headers, helper, environment, inherited } = description;
  const rows: [label: string, text: string][] = [];
  if (command !== undefined) rows.push(["command", quoteText(command)]);
  args.forEach((arg, index) => {
    rows.push([`args[${index}]`, quoteText(arg)]);
  });
  if (url !== undefined) rows.push(["url", quoteText(url)]);
  if (origin !== undefined) rows.push(["origin", quoteUnlessPlain(origin)]);
  rows.push(...headers.map((header): [string, string] => ["header", describeField(header)]));
  if (helper !== undefined) rows.push(["helper", `${quoteText(helper)}, a local program`]);
  for (const { field, prefix, command } of description.commands) {
    const before = prefix === "" ? "" : `${quoteText(prefix)} and `;
    const words = command.map(quoteText).join(" ");
    rows.push(["runs", `${words}, a local program; ${quoteUnlessPlain(field)} = ${before}its output`]);
  }
  rows.push(...description.oauth.map((setting): [string, string] => ["oauth", describeField(setting)]));
  rows.push(...environment.map((variable): [string, string] => ["env", describeField(variable)]));
  rows.push(...description.settings.map((setting): [string, string] => ["setting", describeField(setting)]));
  if (inherited === "all")
    rows.push(["inherits", "all your environment variables except the credentials of other servers"]);
  else if (inherited.length > 0) rows.push(["inherits", `${inherited.join(", ")}, if set and not a credential`]);
  rows.push(...description.variables.map((variable): [string, string] => ["uses", describeVariable(variable)]));
  rows.push(...description.otherFields.map((field): [string, string] => ["unknown", quoteText(field)]));
  rows.push(...description.files.map((file): [string, string] => ["file", describeFile(file)]));
  const shown = rows.slice(0, maxRows).map(([label, text]) => `  ${label.padEnd(9)} ${text}`);
  const left = rows.length - shown.length;
  return [
    `Server ${quoteText(server)} (line ${description.line}) ${kinds[type]}.`,
    ...shown,
    ...(left > 0 ? [`  ! ${left} more lines are not shown. Read the file before you approve.`] : []),
    ...description.notices.slice(0, maxRows).map((notice) => `  ! ${notice}`),
  ];
}

function describeField({ name, text }: DescribedField): string {
  return `${quoteUnlessPlain(name)} = ${quoteText(text)}`;
}

function describeVariable({ name, field, region, isSecret, hasDefault }: DescribedVariable): string {
  const notes = [...(isSecret ? ["a secret"] : []), ...(hasDefault ? ["has a default"] : [])];
  const where = region === undefined ? quoteUnlessPlain(field) : `${region} of the url`;
  return `your ${name} in ${where}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`;
}

const states: Readonly<Record<FileFingerprint["state"], string>> = {
  content: "is a file",
  missing: "does not exist",
  directory: "is a directory; an approval does not cover its files",
  special: "is a pipe, socket or device",
  unreadable: "cannot be read, so approval is required each time",
  "too-large": "is too large to check, so approval is required each time",
  "too-many": "too many files to check, so approval is required each time",
  variable: "depends on a variable, so approval is required each time",
};

/** A file and its state, safe to print. */
function describeFile({ field, path, state, sha256 }: FileFingerprint): string {
  const what = path === "" ? quoteUnlessPlain(field) : `${quoteText(path)} of ${quoteUnlessPlain(field)}`;
  return `${what}: ${describeContent({ state, sha256 })}`;
}

function describeContent({ state, sha256 }: Pick<FileFingerprint, "state" | "sha256">): string {
  return state === "content" ? `sha256 ${sha256?.slice(0, 16)}` : states[state];
}

/** A field of a tool that differs from its first definition since the approval; undefined if it is missing. */
export interface ToolChange {
  readonly kind: "tool";
  /** The server's own name for the tool. */
  readonly tool: string;
  /** Such as `description` or `inputSchema`. */
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** A difference between the approved state and the current one. Strings are as written: escape them before printing. */
export type ApprovalChange =
  /** A value of the entry; undefined if it is missing. */
  | {
      readonly kind: "field";
      readonly field: string;
      readonly before: string | undefined;
      readonly after: string | undefined;
    }
  /** A file that the entry runs: its content or existence. */
  | {
      readonly kind: "file";
      readonly field: string;
      readonly path: string;
      readonly before: FileFingerprint | undefined;
      readonly after: FileFingerprint | undefined;
    }
  /** The origin of the url after substitution; undefined if it is unknown. */
  | { readonly kind: "origin"; readonly before: string | undefined; readonly after: string | undefined }
  /** The plugin root was moved. */
  | { readonly kind: "plugin-root"; readonly before: string; readonly after: string }
  | ToolChange
  /** A hidden value, such as a secret that is written into the entry. */
  | { readonly kind: "not-shown" }
  /** A file that cannot be checked, and so may have changed. */
  | { readonly kind: "unchecked"; readonly file: FileFingerprint };

/** The differences from an approval; empty if the approval is valid. */
export function diffApproval(approved: ApprovalSubject, now: ApprovalSubject): ApprovalChange[] {
  const changes: ApprovalChange[] = diffFields(flattenForm(approved.entry), flattenForm(now.entry));
  const isEntrySame = approved.fingerprint.entry === now.fingerprint.entry;
  // The order of keys does not count as a change.
  if (!isEntrySame && changes.length === 0) changes.push({ kind: "not-shown" });
  const [before, after] = [approved.fingerprint.origin, now.fingerprint.origin];
  if (before !== after) changes.push({ kind: "origin", before, after });
  changes.push(...diffFiles(approved.fingerprint.files, now.fingerprint.files));
  if (approved.pluginRoot !== now.pluginRoot) {
    changes.push({ kind: "plugin-root", before: approved.pluginRoot, after: now.pluginRoot });
  }
  changes.push(...now.fingerprint.files.filter(isUnchecked).map((file) => ({ kind: "unchecked" as const, file })));
  // The digest decides: an approval with a digest of another format is not valid.
  if (changes.length === 0 && approved.fingerprint.digest !== now.fingerprint.digest)
    changes.push({ kind: "not-shown" });
  return changes;
}

/** The differences as lines of plain ASCII. Strings of the entry cannot break lines or control the terminal. */
export function renderDiff(changes: readonly ApprovalChange[]): string[] {
  const lines = changes.slice(0, 200).flatMap(renderChange);
  return changes.length > 200 ? [...lines, `! ${changes.length - 200} more changes. Read the file.`] : lines;
}

/** How the tools of a server differ from their first definitions, as lines of plain ASCII; empty if they do not. */
export function renderToolChanges(server: string, changes: readonly ToolChange[]): string[] {
  if (changes.length === 0) return [];
  return [
    `Tools of ${quoteText(server)} have changed since its approval:`,
    ...renderDiff(changes).map((line) => `  ${line}`),
  ];
}

function renderChange(change: ApprovalChange): string[] {
  switch (change.kind) {
    case "field":
      return [quoteUnlessPlain(change.field), ...pair(change.before, change.after, quoteText)];
    case "file": {
      const what = `${quoteUnlessPlain(change.field)}: the file ${quoteText(change.path)}`;
      const isContent = change.before?.state === "content" && change.after?.state === "content";
      return [isContent ? `${what} has changed` : what, ...pair(change.before, change.after, describeContent)];
    }
    case "origin":
      return ["origin", ...pair(change.before, change.after, quoteUnlessPlain)];
    case "tool":
      return [
        `${quoteUnlessPlain(change.field)} of the tool ${quoteText(change.tool)}`,
        ...pair(change.before, change.after, quoteText),
      ];
    case "plugin-root":
      return ["plugin root", ...pair(change.before, change.after, quoteText)];
    case "not-shown":
      return ["! a value that is not shown has changed"];
    case "unchecked":
      return [`! ${describeFile(change.file)}`];
  }
}

function pair<T>(before: T | undefined, after: T | undefined, show: (value: T) => string): string[] {
  return [
    ...(before === undefined ? [] : [`  - ${show(before)}`]),
    ...(after === undefined ? [] : [`  + ${show(after)}`]),
  ];
}

function diffFields(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ApprovalChange[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((field) => before.get(field) !== after.get(field))
    .map((field) => ({ kind: "field", field, before: before.get(field), after: after.get(field) }));
}

function diffFiles(before: readonly FileFingerprint[], after: readonly FileFingerprint[]): ApprovalChange[] {
  const keyOf = ({ field, path }: FileFingerprint): string => JSON.stringify([field, path]);
  const old = new Map(before.map((file) => [keyOf(file), file]));
  const now = new Map(after.map((file) => [keyOf(file), file]));
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): ApprovalChange[] => {
    const [a, b] = [old.get(key), now.get(key)];
    if (a?.state === b?.state && a?.sha256 === b?.sha256) return [];
    const { field, path } = b ?? a ?? { field: "", path: "" };
    return [{ kind: "file", field, path, before: a, after: b }];
  });
}
