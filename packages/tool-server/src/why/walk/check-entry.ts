import { type Entry, templateFieldsOf } from "../../config/entry.js";
import { formatPath } from "../../config/finding.js";
import type { Position } from "../../config/json-with-positions.js";
import { unknownServer } from "../../config/parse-configuration.js";
import { type ResolvedEntry, substituteEntry } from "../../config/substitute-entry.js";
import { variableUses } from "../../config/variable-uses.js";
import { ToolServerError } from "../../errors.js";
import { notTrusted } from "../../trust/evaluate-trust.js";
import { failureEvidence, type TrustEvidence, type WalkEvidence } from "../evidence.js";
import type { ExplainOptions } from "../explanation.js";
import type { Walk } from "./walk.js";

/** An entry, with and without its variables substituted. */
export interface CheckedEntry {
  readonly seen: WalkEvidence;
  /** Undefined if the entry is invalid. */
  readonly entry: Entry | undefined;
  /** Undefined if the entry or a variable has an error. */
  readonly resolved: ResolvedEntry | undefined;
}

/** Checks an entry and its variables. Nothing is run or connected to. Throws SERVER_UNKNOWN. */
export function checkEntry(options: ExplainOptions): CheckedEntry {
  const { server, configuration, configurationPath, secrets, lastFailure } = options;
  const redact = (text: string): string => secrets.redact(text);
  const entry = configuration.entries.find(({ name }) => name === server);
  const findings = configuration.findings.filter((finding) => finding.server === server);
  if (entry === undefined && findings.length === 0) throw unknownServer(server, configuration, redact);
  const substitution = entry === undefined ? undefined : substituteEntry(entry, options);
  const uses = entry === undefined ? [] : variableUses(entry);
  const isBroken = findings.some(({ severity }) => severity === "error");
  return {
    entry,
    resolved: isBroken ? undefined : substitution?.entry,
    seen: {
      server: redact(server),
      type: entry?.type,
      file: configurationPath,
      positions: entry === undefined ? positionOfFirst(findings) : positionsOf(entry),
      isGateway: options.setVariable !== undefined,
      commandArguments: options.commandArguments ?? [],
      signInArguments: options.signInArguments ?? [],
      findings,
      // Findings about the text of the entry are in `findings` already.
      values: (substitution?.findings ?? []).filter(
        ({ code, path }) => !findings.some((known) => known.code === code && isSamePath(known.path, path)),
      ),
      variables: [...new Set(uses.map(({ variable }) => variable))],
      tenants: entry === undefined || entry.type === "stdio" ? [] : entry.tenants,
      earlier: lastFailure === undefined ? undefined : failureEvidence(lastFailure, redact),
    },
  };
}

function positionsOf(entry: Entry): Record<string, Position> {
  const fields = templateFieldsOf(entry).map(({ field, line, column }) => [field, { line, column }] as const);
  return { entry: { line: entry.line, column: entry.column }, ...Object.fromEntries(fields) };
}

function positionOfFirst([first]: readonly Position[]): Record<string, Position> {
  return first === undefined ? {} : { entry: { line: first.line, column: first.column } };
}

function isSamePath(a: Parameters<typeof formatPath>[0], b: Parameters<typeof formatPath>[0]): boolean {
  return formatPath(a) === formatPath(b);
}

const reasons = {
  approval: "Approved, and not changed since.",
  policy: "Allowed by the policy.",
  flag: "Trusted for this run.",
} as const;

/** Whether the entry is trusted. Nothing is run or connected to. */
export async function checkTrust({ options, entry, redact }: Walk): Promise<TrustEvidence> {
  try {
    const decision = await options.evaluateTrust(entry);
    if (decision.state === "trusted") return { state: "trusted", reason: reasons[decision.by] };
    return { state: decision.state, reason: redact(notTrusted(entry.name, decision).message) };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return { state: "unreadable", reason: redact(error.message) };
  }
}
