import { createHash } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ApprovalChange,
  type FileFingerprint,
  renderDistrust,
  type ToolChange,
  type TrustDecision,
} from "@wirescope/tool-server";
import { renderToolChanges, trustReason } from "@wirescope/tool-server/internal";
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
export function approvalToMessage(
  server: string,
  decision: TrustDecision,
  toolChanges: readonly ToolChange[] = [],
): GetApprovalResponse {
  const isTrusted = decision.state === "trusted";
  const entryChanges = decision.state === "changed" ? decision.diff : [];
  return create(GetApprovalResponseSchema, {
    state: states[decision.state],
    reason: trustReason(decision, toolChanges),
    fingerprint: fingerprintOf(decision, toolChanges),
    description: [...(isTrusted ? [] : renderDistrust(server, decision)), ...renderToolChanges(server, toolChanges)],
    thisRunOnly: isTrusted && decision.by === "flag",
    changes: [...entryChanges, ...toolChanges].map(changeInit),
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

/** The digest of the evaluated entry and the changes of its tools; empty if a policy denies it. */
export function fingerprintOf(decision: TrustDecision, toolChanges: readonly ToolChange[]): string {
  if (decision.state === "denied") return "";
  const { digest } = decision.state === "trusted" ? decision.fingerprint : decision.subject.fingerprint;
  if (toolChanges.length === 0) return digest;
  const hash = createHash("sha256").update(JSON.stringify([digest, toolChanges]));
  return `sha256:${hash.digest("hex")}`;
}

export function changeInit(change: ApprovalChange): MessageInitShape<typeof ApprovalChangeSchema> {
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
    case "tool":
      return { tool: change.tool, field: change.field, ...sidesOf(change.before, change.after) };
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
