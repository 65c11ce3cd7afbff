import { resolve } from "node:path";
import { commandLine } from "../command-line.js";
import type { Entry } from "../config/entry.js";
import type { Variables } from "../config/substitute-entry.js";
import { type ErrorParts, ToolServerError } from "../errors.js";
import { type ApprovalSubject, approvalSubject } from "./approval.js";
import type { ApprovalStore } from "./approval-store.js";
import { type ApprovalDescription, describeForApproval } from "./describe-for-approval.js";
import { type EntryFingerprint, fingerprintEntry } from "./fingerprint-entry.js";
import { isDeniedBy, matchAllowRule, type RuleSubject } from "./match-rule.js";
import type { DenyingRule, TrustPolicy, WithheldRule } from "./policy.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";
import { type ApprovalChange, diffApproval, renderApproval, renderDiff, type ToolChange } from "./render-approval.js";

/** Whether an entry is trusted, and if not, what to show the user. */
export type TrustDecision =
  | {
      readonly state: "trusted";
      /** The reason: an approval, the policy, or `--trust` for this run. */
      readonly by: "approval" | "policy" | "flag";
      readonly fingerprint: EntryFingerprint;
    }
  /** Pending approval. To approve it, pass `subject` to the store. */
  | { readonly state: "new"; readonly approval: ApprovalDescription; readonly subject: ApprovalSubject }
  /** Changed since approval. */
  | {
      readonly state: "changed";
      readonly approval: ApprovalDescription;
      readonly diff: readonly ApprovalChange[];
      readonly subject: ApprovalSubject;
    }
  | { readonly state: "denied"; readonly rule: DenyingRule };

/** The entry to evaluate, and the inputs of the decision. */
export interface TrustQuestion {
  /** An entry without errors; an entry with errors must not be used even if it is trusted. */
  readonly entry: Entry;
  /** The file that contains it. */
  readonly configurationPath: string;
  /** The value of HOST_PLUGIN_ROOT. */
  readonly pluginRoot: string;
  /** The variables of the entry. Only those of the url's origin are read. */
  readonly variables: Variables;
  readonly store: ApprovalStore;
  /** The result of `readPolicy`. */
  readonly policy: TrustPolicy | undefined;
  /** `flag` trusts every entry that the policy does not deny, for this run only. Default `approval`. */
  readonly mode?: "approval" | "flag";
}

/**
 * Decides whether an entry is trusted. In this order: the policy denies it, the policy allows it, `--trust` was given, or it was approved and
 * neither the entry, its files nor its origin changed. Call it before the entry is started or connected, and again before each start. Stores
 * nothing. Rejects with APPROVALS_UNREADABLE or CONFIGURATION_UNREADABLE.
 */
export async function evaluateTrust(question: TrustQuestion): Promise<TrustDecision> {
  const { entry, configurationPath, pluginRoot, variables, store, policy, mode = "approval" } = question;
  const fingerprint = await fingerprintEntry(entry, { pluginRoot, variables });
  const subject = await approvalSubject(entry, fingerprint, configurationPath, pluginRoot);
  let notices: string[] = [];
  if (policy !== undefined) {
    const verdict = await applyPolicy(policy, {
      entry,
      fingerprint,
      pluginRoot: resolve(pluginRoot),
      configurations: [resolve(configurationPath), subject.configuration],
    });
    if (verdict.denial !== undefined) return { state: "denied", rule: verdict.denial };
    if (verdict.isAllowed && policy.requireApproval === "unless-allowed") {
      return { state: "trusted", by: "policy", fingerprint };
    }
    notices = withheldNotices(policy.path, verdict.withheld);
  }
  const isFlagRefused = policy?.allowTrustFlag === false;
  if (mode === "flag" && !isFlagRefused) return { state: "trusted", by: "flag", fingerprint };
  const approved = await store.find(subject, fingerprint.origin);
  const diff = approved && diffApproval(approved, subject);
  if (diff?.length === 0) return { state: "trusted", by: "approval", fingerprint };
  if (mode === "flag" && policy !== undefined) {
    return { state: "denied", rule: { kind: "trust-flag", policy: policy.path } };
  }
  const described = describeForApproval(entry, fingerprint, variables);
  const approval = { ...described, notices: [...notices, ...described.notices] };
  return diff === undefined ? { state: "new", approval, subject } : { state: "changed", approval, diff, subject };
}

interface PolicyVerdict {
  readonly isAllowed: boolean;
  readonly denial?: DenyingRule | undefined;
  readonly withheld?: WithheldRule | undefined;
}

async function applyPolicy(policy: TrustPolicy, subject: RuleSubject): Promise<PolicyVerdict> {
  for (const rule of policy.deny) {
    if (await isDeniedBy(rule, subject))
      return { isAllowed: false, denial: { kind: "deny", policy: policy.path, rule } };
  }
  const { isComplete, digest } = subject.fingerprint;
  const files = [...new Set(subject.fingerprint.files.map(({ path }) => path))].filter((path) => path !== "");
  let withheld: WithheldRule | undefined;
  for (const rule of policy.allow) {
    const match = await matchAllowRule(rule, subject);
    if (match === "allowed") return { isAllowed: true };
    if (match === "has-files") withheld ??= { rule, files, fingerprint: isComplete ? digest : undefined };
  }
  const { uncovered: programs = [] } = subject.fingerprint;
  if (programs.length > 0 && policy.uncoveredCode === "deny") {
    return { isAllowed: false, denial: { kind: "uncovered", policy: policy.path, programs } };
  }
  if (policy.others === "ask") return { isAllowed: false, withheld };
  return { isAllowed: false, denial: { kind: "others", policy: policy.path, withheld } };
}

/** Why a rule that allows the command of an entry does not apply to it, for the user who is asked to approve it. */
function withheldNotices(policy: string, withheld: WithheldRule | undefined): string[] {
  if (withheld === undefined) return [];
  const { rule, fingerprint } = withheld;
  const advice =
    fingerprint === undefined ? "" : ` A rule that allows it with these files needs the fingerprint ${fingerprint}.`;
  const problem = `allows this command on line ${rule.line}, but files of the project decide what it runs, so it needs an approval.`;
  return [`The policy ${quoteUnlessPlain(policy)} ${problem}${advice}`];
}

/** The first files, to be appended to a sentence. */
function listOf(files: readonly string[]): string {
  const shown = files.slice(0, 3).map(quoteText).join(", ");
  return shown === "" ? "" : `: ${shown}${files.length > 3 ? ` and ${files.length - 3} more` : ""}`;
}

/** The decision of an entry that is not trusted. */
export type Distrust = Exclude<TrustDecision, { readonly state: "trusted" }>;

const trustReasons = {
  approval: "approved",
  policy: "allowed by the policy",
  flag: "allowed by --trust",
  new: "pending approval",
  changed: "changed since approval",
  denied: "denied by the policy",
} as const;

/** Why an entry is trusted or not, whether its tools have changed, and what its approval does not cover, in a few words. */
export function trustReason(decision: TrustDecision, toolChanges: readonly ToolChange[]): string {
  if (decision.state !== "trusted") return trustReasons[decision.state];
  const change = toolChanges.length === 0 ? "" : ", but its tools have changed since";
  const programs = decision.by === "approval" ? (decision.fingerprint.uncovered ?? []) : [];
  const uncovered =
    programs.length === 0 ? "" : `; not the code that ${programs.map(quoteUnlessPlain).join(", ")} runs`;
  return `${trustReasons[decision.by]}${change}${uncovered}`;
}

/** The decision as lines of plain ASCII: what to approve, what changed, or which policy denies it. */
export function renderDistrust(server: string, decision: Distrust): string[] {
  switch (decision.state) {
    case "new":
      return renderApproval(decision.approval);
    case "changed":
      return [
        `Server ${quoteText(server)} has changed since approval:`,
        ...renderDiff(decision.diff).map((line) => `  ${line}`),
        ...renderApproval(decision.approval),
      ];
    case "denied":
      return [new ToolServerError("NOT_TRUSTED", partsOf(server, decision)).message];
  }
}

/** The NOT_TRUSTED error for an entry that is not trusted, with advice. */
export function notTrusted(server: string, decision: Distrust): ToolServerError {
  return new ToolServerError("NOT_TRUSTED", partsOf(server, decision));
}

function partsOf(server: string, decision: Distrust): ErrorParts {
  const name = quoteText(server);
  const command = /^[\w.-]+$/.test(server) ? commandLine("trust", server) : `${commandLine("trust")} <server>`;
  // With other values, another origin would be approved instead of this one.
  const same = resolvedOrigin(decision) === undefined ? "" : ", with the same variables and --env-file";
  const advice = `Review and approve it: ${command}${same}. Or pass --trust to trust it for this run only.`;
  switch (decision.state) {
    case "new":
      return { problem: `Server ${name} is pending approval, so it was not started or connected.`, advice };
    case "changed": {
      const count = decision.diff.length === 1 ? "1 change" : `${decision.diff.length} changes`;
      const problem = `Server ${name} has changed since approval (${count}), so it was not started or connected.`;
      return { problem, advice };
    }
    case "denied": {
      const { reason, advice: next } = describeDenial(decision.rule);
      return { problem: `Server ${name} is not allowed: ${reason}`, advice: next };
    }
  }
}

function resolvedOrigin(decision: Distrust): string | undefined {
  return decision.state === "denied" ? undefined : decision.subject.fingerprint.origin;
}

function describeDenial(denial: DenyingRule): { readonly reason: string; readonly advice: string } {
  const policy = `the policy ${quoteUnlessPlain(denial.policy)}`;
  switch (denial.kind) {
    case "deny": {
      const { line, reason } = denial.rule;
      const why = reason === undefined ? "" : ` Reason: ${quoteText(reason)}.`;
      return { reason: `${policy} denies it on line ${line}.${why}`, advice: "Ask the owner of the policy." };
    }
    case "others": {
      const { withheld } = denial;
      if (withheld === undefined) {
        const reason = `${policy} denies every server that it does not allow.`;
        return { reason, advice: "Ask the owner of the policy to add it." };
      }
      const { rule, files, fingerprint } = withheld;
      const more =
        fingerprint === undefined
          ? ""
          : `, or ask the owner of the policy for a rule with the fingerprint ${fingerprint}`;
      const reason = `${policy} allows its command on line ${rule.line}, but files of the project decide what it runs${listOf(files)}.`;
      return { reason, advice: `Remove these files${more}.` };
    }
    case "uncovered": {
      const programs = denial.programs.map(quoteUnlessPlain).join(", ");
      const reason = `${policy} denies servers with code that an approval does not cover: the code that ${programs} runs.`;
      return { reason, advice: "Start a file of the project, or ask the owner of the policy to allow the command." };
    }
    case "trust-flag": {
      const reason = `${policy} does not accept --trust, and this version of the server is not approved.`;
      return { reason, advice: "Approve it without --trust." };
    }
  }
}
