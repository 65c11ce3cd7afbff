import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { Entry } from "../config/entry.js";
import { collectFindings, formatPath, type JsonPath } from "../config/finding.js";
import { judgeSecrets } from "../config/judge-secrets.js";
import { ToolServerError } from "../errors.js";
import type { EntryFingerprint } from "./fingerprint-entry.js";
import { quoteUnlessPlain } from "./quoted-text.js";

/** Which entry an approval is of: one file, one name. */
export interface ApprovalKey {
  /** The absolute path of the configuration, without symbolic links. */
  readonly configuration: string;
  readonly server: string;
}

/** All that an approval is of. It holds no value of a variable but the origin that the url leads to. */
export interface ApprovalSubject extends ApprovalKey {
  /** The plugin's root, without symbolic links: what HOST_PLUGIN_ROOT stood for. */
  readonly pluginRoot: string;
  readonly fingerprint: EntryFingerprint;
  /** The entry as it is written, to show what changed. */
  readonly entry: unknown;
}

/** An approval as it is kept. */
export interface Approval extends ApprovalSubject {
  /** When it was given, in ISO 8601. */
  readonly approvedAt: string;
}

/** The key of an entry. Throws CONFIGURATION_UNREADABLE where there is no such file. */
export async function approvalKey(configurationPath: string, server: string): Promise<ApprovalKey> {
  return { configuration: await realConfiguration(configurationPath), server };
}

/** What an approval of this entry would be of. Give the fingerprint that the person was shown, not a later one. */
export async function approvalSubject(
  entry: Entry,
  fingerprint: EntryFingerprint,
  configurationPath: string,
  pluginRoot: string,
): Promise<ApprovalSubject> {
  const root = resolve(pluginRoot);
  return {
    ...(await approvalKey(configurationPath, entry.name)),
    pluginRoot: await realpath(root).catch(() => root),
    fingerprint,
    entry: entryForm(entry),
  };
}

async function realConfiguration(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    const problem = `The configuration ${quoteUnlessPlain(path)} does not exist any more, so it cannot be judged.`;
    throw new ToolServerError("CONFIGURATION_UNREADABLE", { problem, advice: "Check its path." }, { cause });
  }
}

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
