import type { ResolvedEntry } from "../../config/substitute-entry.js";
import { printableText } from "../../printable-text.js";

const longestTarget = 300;

/** What a connection leads to, for people: the url, or `stdio:` and the command with its arguments. Redacted and escaped. */
export function targetOf(entry: ResolvedEntry, redact: (text: string) => string): string {
  if (entry.type !== "stdio") return printableText(redact(entry.url), longestTarget);
  return printableText(redact(`stdio:${[entry.command, ...entry.args].join(" ")}`), longestTarget);
}
