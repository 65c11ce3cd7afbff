export type {
  CallToolResult,
  GetPromptResult,
  Progress,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Tool,
} from "@modelcontextprotocol/client";
export type { CallPhase, CallPhases, PhaseSubject } from "./call-phases.js";
export type { Clock } from "./clock.js";

export { type BridgeOptions, runBridge } from "./connection/bridge/run-bridge.js";
export type { ClientSettings, MessageOrigin, ServerDescription } from "./connection/client-settings.js";
export type { CallOptions, ChangedList, Connection, ForwardedRequest } from "./connection/connection.js";
export { type ConnectionOptions, createConnection } from "./connection/create-connection.js";
export type { ListProblem } from "./connection/listed-items.js";
export { type ConnectToolServerOptions, connectToolServer } from "./connection/servers/connect-tool-server.js";
export type { OAuthOverrides, OAuthSettings } from "./connection/servers/entry-oauth.js";
export type { SandboxSettings } from "./connection/servers/entry-sandbox.js";
export type {
  AssertTrusted,
  OpenedToolServer,
  ToolServerSettings,
} from "./connection/servers/open-tool-server.js";
export { createToolServers, type ToolServers, type ToolServersOptions } from "./connection/servers/tool-servers.js";
export type {
  ToolTransport,
  TransportLimits,
} from "./connection/transports/transport.js";
export type {
  ChildProcessInfo,
  ConnectionInfo,
  ConnectivityState,
  NetworkSocketInfo,
  SocketInfo,
  TransportInfo,
  TransportKind,
} from "./connection-info.js";
export {
  type ConnectingStep,
  type CredentialEnding,
  type CredentialOperation,
  type CredentialOperationCause,
  type CredentialOperationKind,
  type CredentialOutcome,
  channelPrefix,
  channels,
  type Ending,
  type SetOutcome,
  type StateChange,
  type ToolServerChannelName,
  type ToolServerMessages,
  type TraceEvent,
  type TrackOperation,
} from "./diagnostics.js";
export {
  type ConnectingDetails,
  type ErrorParts,
  ToolServerError,
  type ToolServerErrorCode,
  type ToolServerErrorDetails,
} from "./errors.js";
export type { TlsSettings } from "./http/tls-settings.js";
export type { LoadToolServersOptions } from "./load-tool-servers.js";
export {
  type OpenToolServers,
  type OpenToolServersOptions,
  openToolServers,
  type ToolServerStatus,
} from "./open-tool-servers.js";
export { createSecretRegistry, type Redact, type SecretRegistry } from "./secrets/redactor.js";
export { type TextResult, textOf } from "./text-of.js";
export { type Approval, type ApprovalKey, type ApprovalSubject, approvalKey } from "./trust/approval.js";
export {
  type ApprovalStore,
  type ApprovalStoreOptions,
  createApprovalStore,
  defaultApprovalsPath,
} from "./trust/approval-store.js";
export {
  type ApprovalDescription,
  type DescribedCommand,
  type DescribedField,
  type DescribedVariable,
  describeForApproval,
} from "./trust/describe-for-approval.js";
export {
  type Distrust,
  evaluateTrust,
  notTrusted,
  renderDistrust,
  type TrustDecision,
  type TrustQuestion,
} from "./trust/evaluate-trust.js";
export {
  type EntryFingerprint,
  type FileFingerprint,
  type FingerprintOptions,
  fingerprintEntry,
} from "./trust/fingerprint-entry.js";
export type { OriginPattern } from "./trust/origin-pattern.js";
export type { DenyingRule, PolicyRule, SandboxRule, TrustPolicy, WithheldRule } from "./trust/policy.js";
export { defaultPolicyPath, readPolicy } from "./trust/read-policy.js";
export {
  type ApprovalChange,
  diffApproval,
  renderApproval,
  renderDiff,
  type ToolChange,
} from "./trust/render-approval.js";
export type { DefinedTool } from "./trust/tool-definitions.js";
export { type ApprovalsOptions, approvals, type Trust, trustAll } from "./trust/trust.js";
