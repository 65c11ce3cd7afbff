import { resolve } from "node:path";
import type { Entry } from "../config/entry.js";
import type { Variables } from "../config/substitute-entry.js";
import { type ApprovalSubject, approvalSubject } from "./approval.js";
import type { ApprovalStore } from "./approval-store.js";
import { type ApprovalDescription, describeForApproval } from "./describe-for-approval.js";
import { type ApprovalChange, diffApproval } from "./diff-approval.js";
import { type EntryFingerprint, fingerprintEntry } from "./fingerprint-entry.js";
import { isAllowedBy, isDeniedBy, type RuleSubject } from "./match-rule.js";
import type { DenyingRule, TrustPolicy } from "./policy.js";

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
