import { resolve } from "node:path";
import { commandLine } from "../command-line.js";
import type { Entry } from "../config/entry.js";
import type { Variables } from "../config/substitute-entry.js";
import { type ErrorParts, ToolServerError } from "../errors.js";
import { type ApprovalSubject, approvalSubject } from "./approval.js";
import type { ApprovalStore } from "./approval-store.js";
import { type ApprovalDescription, describeForApproval } from "./describe-for-approval.js";
import { type ApprovalChange, diffApproval, renderDiff } from "./diff-approval.js";
import { type EntryFingerprint, fingerprintEntry } from "./fingerprint-entry.js";
import { isAllowedBy, isDeniedBy, type RuleSubject } from "./match-rule.js";
import type { DenyingRule, TrustPolicy } from "./policy.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";
import { renderApproval } from "./render-approval.js";

/** Whether an entry may act, and what to show or say where it may not. */
export type TrustJudgement =
  | {
      readonly state: "trusted";
      /** Who says so: a person, the team's policy, or `--trust` for this run. */
      readonly by: "approval" | "policy" | "flag";
      readonly fingerprint: EntryFingerprint;
    }
  /** Nobody has approved it yet. Once somebody does, give `subject` to the store. */
  | { readonly state: "new"; readonly approval: ApprovalDescription; readonly subject: ApprovalSubject }
  /** It is not what was approved any more. */
  | {
      readonly state: "changed";
      readonly approval: ApprovalDescription;
      readonly diff: readonly ApprovalChange[];
      readonly subject: ApprovalSubject;
    }
  | { readonly state: "denied"; readonly rule: DenyingRule };

/** The entry to judge, and what it is judged by. */
export interface TrustQuestion {
  /** An entry without errors: one that has them is not to be used, trusted or not. */
  readonly entry: Entry;
  /** The file that it is from. */
  readonly configurationPath: string;
  /** What HOST_PLUGIN_ROOT stands for. */
  readonly pluginRoot: string;
  /** The variables that the entry is opened with. Only those that decide where its url leads are looked up. */
  readonly variables: Variables;
  readonly store: ApprovalStore;
  /** What `readPolicy` gave. */
  readonly policy: TrustPolicy | undefined;
  /** `flag` trusts for this run whatever no policy forbids, and keeps nothing. Default `approval`. */
  readonly mode?: "approval" | "flag";
}

/**
 * Judges whether an entry is trusted: what a policy denies is not, then what it allows is, then what `--trust` is given for,
 * then what is approved and has not changed, and leads where it led. Ask before anything of the entry is run or connected to, and
 * again before each start. Nothing is kept here. Rejects with APPROVALS_UNREADABLE or CONFIGURATION_UNREADABLE.
 */
export async function judgeTrust(question: TrustQuestion): Promise<TrustJudgement> {
  const { entry, configurationPath, pluginRoot, variables, store, policy, mode = "approval" } = question;
  const fingerprint = await fingerprintEntry(entry, { pluginRoot, variables });
  const subject = await approvalSubject(entry, fingerprint, configurationPath, pluginRoot);
  if (policy !== undefined) {
    const verdict = await judgePolicy(policy, {
      entry,
      fingerprint,
      pluginRoot: resolve(pluginRoot),
      configurations: [resolve(configurationPath), subject.configuration],
    });
    if (typeof verdict === "object") return { state: "denied", rule: verdict };
    if (verdict === "allowed" && policy.requireApproval === "unless-allowed") {
      return { state: "trusted", by: "policy", fingerprint };
    }
  }
  const isFlagRefused = policy?.allowTrustFlag === false;
  if (mode === "flag" && !isFlagRefused) return { state: "trusted", by: "flag", fingerprint };
  const approved = await store.find(subject, fingerprint.origin);
  const diff = approved && diffApproval(approved, subject);
  if (diff?.length === 0) return { state: "trusted", by: "approval", fingerprint };
  if (mode === "flag" && policy !== undefined) {
    return { state: "denied", rule: { kind: "trust-flag", policy: policy.path } };
  }
  const approval = describeForApproval(entry, fingerprint, variables);
  return diff === undefined ? { state: "new", approval, subject } : { state: "changed", approval, diff, subject };
}

async function judgePolicy(policy: TrustPolicy, subject: RuleSubject): Promise<DenyingRule | "allowed" | "unlisted"> {
  for (const rule of policy.deny) {
    if (await isDeniedBy(rule, subject)) return { kind: "deny", policy: policy.path, rule };
  }
  for (const rule of policy.allow) {
    if (await isAllowedBy(rule, subject)) return "allowed";
  }
  return policy.others === "deny" ? { kind: "others", policy: policy.path } : "unlisted";
}

/** A judgement that does not let an entry act. */
export type Distrust = Exclude<TrustJudgement, { readonly state: "trusted" }>;

/** The judgement as lines for people, in plain ASCII: what is to be approved, what changed, or who forbids it. */
export function renderDistrust(server: string, judgement: Distrust): string[] {
  switch (judgement.state) {
    case "new":
      return renderApproval(judgement.approval);
    case "changed":
      return [
        `The server ${quoteText(server)} is not what was approved:`,
        ...renderDiff(judgement.diff).map((line) => `  ${line}`),
        ...renderApproval(judgement.approval),
      ];
    case "denied":
      return [new ToolServerError("NOT_TRUSTED", partsOf(server, judgement)).message];
  }
}

/** The error that an entry fails with that is not trusted: NOT_TRUSTED, with what to do. */
export function notTrusted(server: string, judgement: Distrust): ToolServerError {
  return new ToolServerError("NOT_TRUSTED", partsOf(server, judgement));
}

function partsOf(server: string, judgement: Distrust): ErrorParts {
  const name = quoteText(server);
  const command = /^[\w.-]+$/.test(server) ? commandLine("trust", server) : `${commandLine("trust")} <server>`;
  // Another value of the variable leads elsewhere, and would be approved in place of this one.
  const same = resolvedOrigin(judgement) === undefined ? "" : ", with the same variables and --env-file";
  const advice = `Look at it and approve it: ${command}${same}. Or give --trust for this run alone.`;
  switch (judgement.state) {
    case "new":
      return { problem: `The server ${name} is not approved yet, so nothing of it was run or connected to.`, advice };
    case "changed": {
      const count = judgement.diff.length === 1 ? "1 change" : `${judgement.diff.length} changes`;
      const problem = `The server ${name} is not what was approved (${count}), so nothing of it was run or connected to.`;
      return { problem, advice };
    }
    case "denied": {
      const { reason, advice: next } = describeDenial(judgement.rule);
      return { problem: `The server ${name} is not allowed here: ${reason}`, advice: next };
    }
  }
}

function resolvedOrigin(judgement: Distrust): string | undefined {
  return judgement.state === "denied" ? undefined : judgement.subject.fingerprint.origin;
}

function describeDenial(denial: DenyingRule): { readonly reason: string; readonly advice: string } {
  const policy = `the policy ${quoteUnlessPlain(denial.policy)}`;
  switch (denial.kind) {
    case "deny": {
      const reason = denial.rule.reason === undefined ? "" : ` It says: ${quoteText(denial.rule.reason)}.`;
      return {
        reason: `${policy} denies it in line ${denial.rule.line}.${reason}`,
        advice: "Ask the owner of the policy.",
      };
    }
    case "others":
      return { reason: `${policy} denies what it does not list.`, advice: "Ask the owner of the policy to add it." };
    case "trust-flag":
      return {
        reason: `${policy} does not accept --trust, and the server is not approved as it is.`,
        advice: "Approve it, without --trust.",
      };
  }
}
