import type { ApprovalDescription, DescribedField, DescribedVariable } from "./describe-for-approval.js";
import type { FileFingerprint } from "./fingerprint-entry.js";
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
  const facts = [...(isSecret ? ["a secret"] : []), ...(hasDefault ? ["has a default"] : [])];
  const where = region === undefined ? quoteUnlessPlain(field) : `${region} of the url`;
  return `your ${name} in ${where}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
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
export function describeFile({ field, path, state, sha256 }: FileFingerprint): string {
  const what = path === "" ? quoteUnlessPlain(field) : `${quoteText(path)} of ${quoteUnlessPlain(field)}`;
  return `${what}: ${describeContent({ state, sha256 })}`;
}

/** The state of a file's content. */
export function describeContent({ state, sha256 }: Pick<FileFingerprint, "state" | "sha256">): string {
  return state === "content" ? `sha256 ${sha256?.slice(0, 16)}` : states[state];
}
