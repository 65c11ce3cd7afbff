import type { Entry } from "../config/entry.js";
import { collectFindings, formatPath, type JsonPath } from "../config/finding.js";
import { judgeSecrets } from "../config/judge-secrets.js";

/** What stands in place of a secret that is wrongly written into an entry. */
export const secretNotShown = "[not shown: a secret is written here]";

/** The paths within an entry, as `headers.Authorization`, whose text holds a secret beyond doubt. */
export function secretFieldsOf(entry: Entry): ReadonlySet<string> {
  const { findings, report } = collectFindings();
  judgeSecrets(entry, report);
  // A mere guess is shown: who hides more than that hides what is to be approved.
  const sure = findings.filter(({ severity }) => severity === "error");
  return new Set(sure.map(({ path }) => formatPath(path.slice(entry.path.length))));
}

/** The entry as it is written, in a form that may be kept and shown: variables unexpanded, written secrets left out. */
export function entryForm(entry: Entry): unknown {
  const secrets = secretFieldsOf(entry);
  return mapTexts(entry.written, [], (text, path) => (secrets.has(formatPath(path)) ? secretNotShown : text));
}

/** Each value of an entry by its path, as `args[0]` or `headers.Accept`; what is no text is told as JSON. */
export function flattenForm(form: unknown): Map<string, string> {
  const texts = new Map<string, string>();
  const walk = (value: unknown, path: JsonPath): void => {
    const inner = childrenOf(value);
    if (inner.length === 0) texts.set(formatPath(path), typeof value === "string" ? value : JSON.stringify(value));
    for (const [step, child] of inner) walk(child, [...path, step]);
  };
  for (const [step, child] of childrenOf(form)) walk(child, [step]);
  return texts;
}

function childrenOf(value: unknown): [step: string | number, child: unknown][] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function mapTexts(value: unknown, path: JsonPath, map: (text: string, path: JsonPath) => string): unknown {
  if (typeof value === "string") return map(value, path);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, [...path, index], map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapTexts(inner, [...path, key], map)]));
}
