export { type Approval, type ApprovalKey, type ApprovalSubject, approvalKey } from "./approval.js";
export {
  type ApprovalStore,
  type ApprovalStoreOptions,
  createApprovalStore,
  defaultApprovalsPath,
} from "./approval-store.js";
export {
  type ApprovalDescription,
  type DescribedField,
  type DescribedVariable,
  describeForApproval,
} from "./describe-for-approval.js";
export { type ApprovalChange, diffApproval, renderDiff } from "./diff-approval.js";
export {
  type EntryFingerprint,
  type FileFingerprint,
  type FingerprintOptions,
  fingerprintEntry,
} from "./fingerprint-entry.js";
export { judgeTrust, type TrustJudgement, type TrustQuestion } from "./judge-trust.js";
export type { OriginPattern } from "./origin-pattern.js";
export type { DenyingRule, PolicyRule, SandboxRule, TrustPolicy } from "./policy.js";
export { defaultPolicyPath, readPolicy } from "./read-policy.js";
export { renderApproval } from "./render-approval.js";
export { type Distrust, notTrusted, renderDistrust } from "./trust-error.js";
