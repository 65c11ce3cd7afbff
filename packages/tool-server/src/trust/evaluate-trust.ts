import { resolve } from "node:path";
import { commandLine } from "../command-line.js";
import type { Entry } from "../config/entry.js";
import type { Variables } from "../config/substitute-entry.js";
import { type ErrorParts, ToolServerError } from "../errors.js";
import { type ApprovalSubject, approvalSubject } from "./approval.js";
import type { ApprovalStore } from "./approval-store.js";
import { type ApprovalDescription, describeForApproval } from "./describe-for-approval.js";
import { type EntryFingerprint, fingerprintEntry } from "./fingerprint-entry.js";
import { isAllowedBy, isDeniedBy, type RuleSubject } from "./match-rule.js";
import type { DenyingRule, TrustPolicy } from "./policy.js";
import { quoteText, quoteUnlessPlain } from "./quoted-text.js";
import { type ApprovalChange, diffApproval, renderApproval, renderDiff } from "./render-approval.js";

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

/** The entry to evaluate, and what decides about it. */
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
  if (policy !== undefined) {
    const verdict = await applyPolicy(policy, {
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

async function applyPolicy(policy: TrustPolicy, subject: RuleSubject): Promise<DenyingRule | "allowed" | "unlisted"> {
  for (const rule of policy.deny) {
    if (await isDeniedBy(rule, subject)) return { kind: "deny", policy: policy.path, rule };
  }
  for (const rule of policy.allow) {
    if (await isAllowedBy(rule, subject)) return "allowed";
  }
  return policy.others === "deny" ? { kind: "others", policy: policy.path } : "unlisted";
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

/** Why an entry is trusted or not, in a few words. */
export function trustReason(decision: TrustDecision): string {
  return trustReasons[decision.state === "trusted" ? decision.by : decision.state];
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
      const reason = denial.rule.reason === undefined ? "" : ` Reason: ${quoteText(denial.rule.reason)}.`;
      return {
        reason: `${policy} denies it on line ${denial.rule.line}.${reason}`,
        advice: "Ask the owner of the policy.",
      };
    }
    case "others":
      return {
        reason: `${policy} denies every server that it does not allow.`,
        advice: "Ask the owner of the policy to add it.",
      };
    case "trust-flag":
      return {
        reason: `${policy} does not accept --trust, and this version of the server is not approved.`,
        advice: "Approve it without --trust.",
      };
  }
}
