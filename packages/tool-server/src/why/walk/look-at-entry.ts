import { type Entry, textFieldsOf } from "../../config/entry.js";
import { formatPath } from "../../config/finding.js";
import type { Position } from "../../config/json-with-positions.js";
import { unknownServer } from "../../config/parse-configuration.js";
import { type ResolvedEntry, substituteEntry } from "../../config/substitute-entry.js";
import { variableUses } from "../../config/variable-uses.js";
import type { ExplainOptions } from "../explain-options.js";
import type { WalkFacts } from "../facts.js";
import { failureFactsOf } from "../failure-facts.js";

/** An entry as it stands in the configuration, and with its variables put in. */
export interface EntryLook {
  readonly facts: WalkFacts;
  /** Undefined where the entry cannot be understood. */
  readonly entry: Entry | undefined;
  /** Undefined where anything is wrong with the entry or its variables. */
  readonly resolved: ResolvedEntry | undefined;
}

/** Looks at an entry and at its variables. Nothing is run or connected to. Throws SERVER_UNKNOWN. */
export function lookAtEntry(options: ExplainOptions): EntryLook {
  const { server, configuration, configurationPath, secrets, lastFailure } = options;
  const entry = configuration.entries.find(({ name }) => name === server);
  const findings = configuration.findings.filter((finding) => finding.server === server);
  if (entry === undefined && findings.length === 0) {
    throw unknownServer(server, configuration, (text) => secrets.redact(text));
  }
  const substitution = entry === undefined ? undefined : substituteEntry(entry, options);
  const uses = entry === undefined ? [] : variableUses(entry);
  const isBroken = findings.some(({ severity }) => severity === "error");
  return {
    entry,
    resolved: isBroken ? undefined : substitution?.entry,
    facts: {
      server: secrets.redact(server),
      type: entry?.type,
      file: configurationPath,
      places: entry === undefined ? placesOfFindings(findings) : placesOf(entry),
      isGateway: options.setVariable !== undefined,
      commandArguments: options.commandArguments ?? [],
      signInArguments: options.signInArguments ?? [],
      findings,
      values: (substitution?.findings ?? [])
        // The rest of the text is told of already.
        .filter(({ code, path }) => !findings.some((known) => known.code === code && isSamePath(known.path, path))),
      variables: [...new Set(uses.map(({ variable }) => variable))],
      tenants: entry === undefined || entry.type === "stdio" ? [] : entry.tenants,
      earlier: lastFailure === undefined ? undefined : failureFactsOf(lastFailure, (text) => secrets.redact(text)),
    },
  };
}

function placesOf(entry: Entry): Record<string, Position> {
  const fields = textFieldsOf(entry).map(({ field, line, column }) => [field, { line, column }] as const);
  return { entry: { line: entry.line, column: entry.column }, ...Object.fromEntries(fields) };
}

function placesOfFindings([first]: readonly Position[]): Record<string, Position> {
  return first === undefined ? {} : { entry: { line: first.line, column: first.column } };
}

function isSamePath(a: Parameters<typeof formatPath>[0], b: Parameters<typeof formatPath>[0]): boolean {
  return formatPath(a) === formatPath(b);
}
