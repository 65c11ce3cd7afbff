import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { checkSecrets } from "../config/check-secrets.js";
import type { Entry } from "../config/entry.js";
import { collectFindings, formatPath } from "../config/finding.js";
import type { JsonPath } from "../config/json-with-positions.js";
import { ToolServerError } from "../errors.js";
import type { EntryFingerprint } from "./fingerprint-entry.js";
import { quoteUnlessPlain } from "./quoted-text.js";

/** Identifies the approved entry: one file, one name. */
export interface ApprovalKey {
  /** The absolute path of the configuration, without symbolic links. */
  readonly configuration: string;
  readonly server: string;
}

/** Everything that an approval covers. It contains no variable values except the origin of the url. */
export interface ApprovalSubject extends ApprovalKey {
  /** The value of HOST_PLUGIN_ROOT, without symbolic links. */
  readonly pluginRoot: string;
  readonly fingerprint: EntryFingerprint;
  /** The entry as written, to show changes later. */
  readonly entry: unknown;
}

/** A stored approval. */
export interface Approval extends ApprovalSubject {
  /** The time of the approval, in ISO 8601. */
  readonly approvedAt: string;
}

/** The key of an entry. Throws CONFIGURATION_UNREADABLE if the file does not exist. */
export async function approvalKey(configurationPath: string, server: string): Promise<ApprovalKey> {
  return { configuration: await realConfiguration(configurationPath), server };
}

/** What an approval of this entry covers. Pass the fingerprint that the user was shown, not a later one. */
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
    const problem = `The configuration ${quoteUnlessPlain(path)} no longer exists.`;
    throw new ToolServerError("CONFIGURATION_UNREADABLE", { problem, advice: "Check its path." }, { cause });
  }
}

/** Replaces a secret that is written into an entry. */
export const secretNotShown = "[not shown: a secret is written here]";

/** The paths within an entry, such as `headers.Authorization`, that certainly contain a secret. */
export function secretFieldsOf(entry: Entry): ReadonlySet<string> {
  const { findings, report } = collectFindings();
  checkSecrets(entry, report);
  // A value that may not be a secret is shown: hiding it would hide what the user approves.
  const sure = findings.filter(({ severity }) => severity === "error");
  return new Set(sure.map(({ path }) => formatPath(path.slice(entry.path.length))));
}

/** The entry in a form that can be stored and shown: without substitution, and without written secrets. */
export function entryForm(entry: Entry): unknown {
  const secrets = secretFieldsOf(entry);
  const written = flattenForm(entry.written);
  // A field of another program may be parsed into other paths than it is written with. Then all of the field is hidden.
  const hidden = new Set([...secrets].filter((path) => !written.has(path)).map((path) => path.split(/[.[]/, 1)[0]));
  return mapTexts(entry.written, [], (text, path) => {
    return secrets.has(formatPath(path)) || hidden.has(String(path[0])) ? secretNotShown : text;
  });
}

/** Each value of an entry by its path, such as `args[0]` or `headers.Accept`; values other than strings are JSON. */
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
