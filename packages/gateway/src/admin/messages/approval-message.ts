import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ApprovalChange, type FileFingerprint, renderDistrust, type TrustDecision } from "@wirescope/tool-server";
import { trustReason } from "@wirescope/tool-server/internal";
import {
  type ApprovalChangeSchema,
  type GetApprovalResponse,
  GetApprovalResponseSchema,
  TrustState,
} from "../../gen/wirescope/v1/admin_pb.js";
import { nameOf } from "./enums.js";

const states = {
  trusted: TrustState.TRUSTED,
  new: TrustState.NEW,
  changed: TrustState.CHANGED,
  denied: TrustState.DENIED,
} as const;

/** What has to be approved, as a message. */
export function approvalToMessage(server: string, decision: TrustDecision): GetApprovalResponse {
  const isTrusted = decision.state === "trusted";
  return create(GetApprovalResponseSchema, {
    state: states[decision.state],
    reason: trustReason(decision),
    fingerprint: fingerprintOf(decision),
    description: isTrusted ? [] : renderDistrust(server, decision),
    thisRunOnly: isTrusted && decision.by === "flag",
    changes: decision.state === "changed" ? decision.diff.map(changeInit) : [],
  });
}

/** The approval request that a message contains. */
export interface ShownApproval {
  readonly state: TrustDecision["state"];
  readonly reason: string;
  /** What the user has to see before they approve it. */
  readonly lines: readonly string[];
  /** Identifies what was shown, for the approval. */
  readonly fingerprint: string;
  /** Whether it is trusted only until the gateway stops. */
  readonly isForRun: boolean;
}

export function approvalFromMessage(message: GetApprovalResponse): ShownApproval {
  const { state, reason, description, fingerprint, thisRunOnly } = message;
  return {
    state: nameOf(states, state) ?? "new",
    reason,
    lines: description,
    fingerprint,
    isForRun: thisRunOnly,
  };
}

/** The digest of the evaluated entry; empty if a policy denies it. */
export function fingerprintOf(decision: TrustDecision): string {
  if (decision.state === "denied") return "";
  return (decision.state === "trusted" ? decision.fingerprint : decision.subject.fingerprint).digest;
}

function changeInit(change: ApprovalChange): MessageInitShape<typeof ApprovalChangeSchema> {
  switch (change.kind) {
    case "field":
      return { field: change.field, ...sidesOf(change.before, change.after) };
    case "file":
      return {
        field: change.field,
        path: change.path,
        ...sidesOf(describeFile(change.before), describeFile(change.after)),
      };
    case "origin":
      return { field: "origin", ...sidesOf(change.before, change.after) };
    case "plugin-root":
      return { field: "plugin root", ...sidesOf(change.before, change.after) };
    case "not-shown":
      return { field: "a hidden value" };
    case "unchecked":
      return { field: change.file.field, path: change.file.path, after: change.file.state };
  }
}

function sidesOf(
  before: string | undefined,
  after: string | undefined,
): Pick<MessageInitShape<typeof ApprovalChangeSchema>, "before" | "after"> {
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

function describeFile(file: FileFingerprint | undefined): string | undefined {
  return file?.sha256 === undefined ? file?.state : `sha256 ${file.sha256}`;
}
