import { isAbsolute } from "node:path";
import {
  type JsonMember,
  type JsonNode,
  type Position,
  parseJsonWithPositions,
} from "../config/json-with-positions.js";
import { suggest } from "../suggest.js";
import { type OriginPattern, parseOriginPattern } from "./origin-pattern.js";
import { quoteText } from "./quoted-text.js";

/** When stdio servers and helpers run in the sandbox. */
export type SandboxRule = "auto" | "required" | "off";

/** The conditions of a rule. All of them must match. */
export interface PolicyRule {
  /** Entries with this origin. */
  readonly url?: OriginPattern | undefined;
  /** Stdio entries with this command: its path or name, as written in the entry. */
  readonly command?: string | undefined;
  /** The first arguments. */
  readonly args: readonly string[];
  /** The variables that an allowed entry may set for its process; others are not allowed. */
  readonly env: readonly string[];
  /** Whether an allowed entry may have a helper. */
  readonly helper: boolean;
  /** Whether an allowed entry has to run in the sandbox; false allows `"sandbox": false` as well. */
  readonly sandbox: boolean;
  /** The digest of exactly one entry and its files. */
  readonly fingerprint?: string | undefined;
  /** Configurations at or below this absolute path. */
  readonly configuration?: string | undefined;
  /** Shown to a user whose entry is denied. */
  readonly reason?: string | undefined;
  /** The line of the rule in the file. */
  readonly line: number;
}

/** The policy of a team or machine. */
export interface TrustPolicy {
  /** The file that contains it. */
  readonly path: string;
  /** Whether entries that a rule allows need an approval too. */
  readonly requireApproval: "always" | "unless-allowed";
  /** Whether `--trust` is accepted. */
  readonly allowTrustFlag: boolean;
  /** What to do with entries that match no rule. */
  readonly others: "ask" | "deny";
  /** What to do with entries that match no rule and may run code that an approval does not cover, such as `npx`. */
  readonly uncoveredCode: "ask" | "deny";
  /** Whether stdio servers and helpers run in the sandbox: if available and not turned off by the entry; always, or they do not start; or never. */
  readonly sandbox: SandboxRule;
  readonly allow: readonly PolicyRule[];
  readonly deny: readonly PolicyRule[];
}

/** A rule that allows the command of an entry, but does not apply because files of the project decide what runs. */
export interface WithheldRule {
  readonly rule: PolicyRule;
  /** The paths of the files, relative to the plugin root. */
  readonly files: readonly string[];
  /** The fingerprint for a rule that allows the entry with these files; undefined if a file cannot be checked. */
  readonly fingerprint: string | undefined;
}

/** Why a policy denies an entry. */
export type DenyingRule =
  | { readonly kind: "deny"; readonly policy: string; readonly rule: PolicyRule }
  /** No rule allows it, and the policy denies all others. */
  | { readonly kind: "others"; readonly policy: string; readonly withheld?: WithheldRule | undefined }
  /** No rule allows it, and it may run code that an approval does not cover. */
  | { readonly kind: "uncovered"; readonly policy: string; readonly programs: readonly string[] }
  /** `--trust` was given, which the policy does not accept. */
  | { readonly kind: "trust-flag"; readonly policy: string };

export interface PolicyProblem extends Position {
  readonly message: string;
}

type ReportProblem = (at: Position, message: string) => void;

const policyFields = [
  "$schema",
  "version",
  "requireApproval",
  "allowTrustFlag",
  "others",
  "uncoveredCode",
  "sandbox",
  "allow",
  "deny",
] as const;
const conditions = ["url", "command", "fingerprint", "configuration"] as const;
const denyFields = [...conditions, "args", "reason"] as const;
const allowFields = [...denyFields, "env", "helper", "sandbox"] as const;

/** Parses a policy. With any problem, no policy is returned: a part of one could allow what the rest denies. */
export function parsePolicy(
  text: string,
  path: string,
): { readonly policy: TrustPolicy | undefined; readonly problems: readonly PolicyProblem[] } {
  const problems: PolicyProblem[] = [];
  const report: ReportProblem = ({ line, column }, message) => {
    problems.push({ line, column, message });
  };
  const { root, problems: syntax } = parseJsonWithPositions(text);
  for (const problem of syntax) report(problem, `${problem.message} ${problem.fix}`);
  const policy = root && readPolicy(root, path, report);
  problems.sort((a, b) => a.line - b.line || a.column - b.column);
  return { policy: problems.length === 0 ? policy : undefined, problems };
}

function readPolicy(root: JsonNode, path: string, report: ReportProblem): TrustPolicy | undefined {
  const members = membersOf(root, "The policy", policyFields, report);
  if (members === undefined) return undefined;
  const version = members.get("version");
  if (version === undefined) report(root, 'The policy has no version. Write "version": 1.');
  else if (version.value.kind !== "number" || version.value.value !== 1) {
    report(version.value, "Unsupported version. The only supported version is 1.");
  }
  textOf(members.get("$schema"), report);
  return {
    path,
    requireApproval: choiceOf(members.get("requireApproval"), ["unless-allowed", "always"], report),
    allowTrustFlag: flagOf(members.get("allowTrustFlag"), true, report),
    others: choiceOf(members.get("others"), ["ask", "deny"], report),
    uncoveredCode: choiceOf(members.get("uncoveredCode"), ["ask", "deny"], report),
    sandbox: choiceOf(members.get("sandbox"), ["auto", "required", "off"], report),
    allow: rulesOf(members.get("allow"), allowFields, report),
    deny: rulesOf(members.get("deny"), denyFields, report),
  };
}

function rulesOf(member: JsonMember | undefined, fields: readonly string[], report: ReportProblem): PolicyRule[] {
  if (member === undefined) return [];
  if (member.value.kind !== "array") {
    report(member.value, `${member.key} must be a list of rules. Write [{"url": "https://*.example.com"}].`);
    return [];
  }
  return member.value.items.flatMap((item) => readRule(item, fields, report) ?? []);
}

function readRule(node: JsonNode, fields: readonly string[], report: ReportProblem): PolicyRule | undefined {
  const members = membersOf(node, "A rule", fields, report);
  if (members === undefined) return undefined;
  if (!conditions.some((name) => members.has(name))) {
    report(
      node,
      `A rule needs at least one of ${conditions.join(", ")}; without a condition it would match every entry.`,
    );
  }
  if (members.has("url") && members.has("command")) {
    report(node, "A rule with both url and command never matches, because no entry has both. Split it into two rules.");
  }
  needs(members, "args", ["command"], report);
  needs(members, "env", ["command"], report);
  needs(members, "helper", ["url"], report);
  needs(members, "sandbox", ["command", "helper"], report);
  return {
    url: patternOf(members.get("url"), report),
    command: textOf(members.get("command"), report),
    args: textsOf(members.get("args"), report),
    env: textsOf(members.get("env"), report),
    helper: flagOf(members.get("helper"), false, report),
    sandbox: flagOf(members.get("sandbox"), true, report),
    fingerprint: digestOf(members.get("fingerprint"), report),
    configuration: pathOf(members.get("configuration"), report),
    reason: textOf(members.get("reason"), report),
    line: node.line,
  };
}

function membersOf(
  node: JsonNode,
  what: string,
  fields: readonly string[],
  report: ReportProblem,
): ReadonlyMap<string, JsonMember> | undefined {
  if (node.kind !== "object") {
    report(node, `${what} must be an object. Write {…}.`);
    return undefined;
  }
  for (const { key, keyAt } of node.members.filter((member) => !fields.includes(member.key))) {
    const near = suggest(key, fields);
    const advice = near === undefined ? `Known fields: ${fields.join(", ")}.` : `Did you mean ${near}?`;
    report(keyAt, `${what} has the unknown field ${quoteText(key)}. ${advice}`);
  }
  return new Map(node.members.map((member) => [member.key, member]));
}

function needs(
  members: ReadonlyMap<string, JsonMember>,
  field: string,
  others: readonly string[],
  report: ReportProblem,
): void {
  const member = members.get(field);
  if (member === undefined || others.some((other) => members.has(other))) return;
  report(member.keyAt, `${field} requires ${others.join(" or ")}.`);
}

function textOf(member: JsonMember | undefined, report: ReportProblem): string | undefined {
  if (member === undefined) return undefined;
  if (member.value.kind === "string" && member.value.value !== "") return member.value.value;
  report(member.value, `${quoteText(member.key)} must be a non-empty string. Write it in double quotes.`);
  return undefined;
}

function textsOf(member: JsonMember | undefined, report: ReportProblem): string[] {
  if (member === undefined) return [];
  const items = member.value.kind === "array" ? member.value.items : [];
  if (member.value.kind !== "array") report(member.value, `${member.key} must be a list of strings. Write ["…"].`);
  return items.flatMap((item) => {
    if (item.kind === "string") return [item.value];
    report(item, `${member.key} must be a list of strings. Write it in double quotes.`);
    return [];
  });
}

function flagOf(member: JsonMember | undefined, fallback: boolean, report: ReportProblem): boolean {
  if (member === undefined) return fallback;
  if (member.value.kind === "boolean") return member.value.value;
  report(member.value, `${member.key} must be true or false.`);
  return fallback;
}

function choiceOf<T extends string>(
  member: JsonMember | undefined,
  choices: readonly [T, ...T[]],
  report: ReportProblem,
): T {
  if (member === undefined) return choices[0];
  const { value } = member;
  const found = value.kind === "string" ? choices.find((choice) => choice === value.value) : undefined;
  if (found === undefined)
    report(value, `${member.key} must be one of ${choices.map((choice) => `"${choice}"`).join(", ")}.`);
  return found ?? choices[0];
}

function patternOf(member: JsonMember | undefined, report: ReportProblem): OriginPattern | undefined {
  const text = textOf(member, report);
  if (member === undefined || text === undefined) return undefined;
  const pattern = parseOriginPattern(text);
  if (!("problem" in pattern)) return pattern;
  report(member.value, `The url is not a valid pattern: ${pattern.problem}.`);
  return undefined;
}

function digestOf(member: JsonMember | undefined, report: ReportProblem): string | undefined {
  const text = textOf(member, report)?.toLowerCase();
  if (member === undefined || text === undefined || /^sha256:[0-9a-f]{64}$/.test(text)) return text;
  report(member.value, "The fingerprint must be sha256: followed by 64 hexadecimal digits.");
  return undefined;
}

function pathOf(member: JsonMember | undefined, report: ReportProblem): string | undefined {
  const text = textOf(member, report);
  if (member === undefined || text === undefined || isAbsolute(text)) return text;
  report(member.value, "The configuration must be an absolute path.");
  return undefined;
}
