import type { ApprovalDescription, DescribedField, DescribedVariable } from "./describe-for-approval.js";
import { describeFile } from "./file-words.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";

const mostRows = 200;

const kinds: Readonly<Record<ApprovalDescription["type"], string>> = {
  http: "is reached over the network (http)",
  sse: "is reached over the network (sse)",
  ws: "is reached over the network (ws)",
  stdio: "is a program that runs on this machine (stdio)",
};

/** The description as lines of plain ASCII, which no text of the entry can break, drive or counterfeit. */
export function renderApproval(description: ApprovalDescription): string[] {
  const { server, type, url, origin, command, args, headers, helper, environment, inherited } = description;
  const rows: [label: string, text: string][] = [];
  if (command !== undefined) rows.push(["command", quoteText(command)]);
  args.forEach((arg, index) => {
    rows.push([`args[${index}]`, quoteText(arg)]);
  });
  if (url !== undefined) rows.push(["url", quoteText(url)]);
  if (origin !== undefined) rows.push(["leads to", quoteUnlessPlain(origin)]);
  rows.push(...headers.map((header): [string, string] => ["header", describeField(header)]));
  if (helper !== undefined) rows.push(["helper", `${quoteText(helper)}, a program that runs on this machine`]);
  rows.push(...environment.map((variable): [string, string] => ["env", describeField(variable)]));
  if (inherited === "all") rows.push(["gets", "all your variables but the credentials of other servers"]);
  else if (inherited.length > 0) rows.push(["gets", `${inherited.join(", ")}, if they are set and hold no credential`]);
  rows.push(...description.variables.map((variable): [string, string] => ["uses", describeVariable(variable)]));
  rows.push(...description.otherFields.map((field): [string, string] => ["unknown", quoteText(field)]));
  rows.push(...description.files.map((file): [string, string] => ["file", describeFile(file)]));
  const shown = rows.slice(0, mostRows).map(([label, text]) => `  ${label.padEnd(9)} ${text}`);
  const left = rows.length - shown.length;
  return [
    `The server ${quoteText(server)} (line ${description.line}) ${kinds[type]}.`,
    ...shown,
    ...(left > 0 ? [`  ! ${left} more lines are not shown. Read the file before you approve.`] : []),
    ...description.notices.slice(0, mostRows).map((notice) => `  ! ${notice}`),
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
