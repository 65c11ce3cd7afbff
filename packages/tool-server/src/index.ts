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
export { createNetworkLink, type NetworkLink, type NetworkLinkOptions } from "./bridge/network-link.js";
export { createPipeTransport } from "./bridge/pipe-transport.js";
export { type RelayOptions as ForwardStdioOptions, relay as forwardStdio } from "./bridge/relay.js";
export { type BridgeOptions, runBridge } from "./bridge/run-bridge.js";
export { type CheckOptions, type CheckReport, checkConfiguration } from "./configuration/check-configuration.js";
export {
  configurationFileName,
  findConfigurationFile,
  readConfigurationFile,
} from "./configuration/configuration-file.js";
export { readReadme } from "./configuration/documents.js";
export type {
  Entry,
  NamedField,
  NetworkEntry,
  NetworkType,
  StdioEntry,
  TenantVariable,
  TextField,
} from "./configuration/entry.js";
export { type Finding, formatPath, type JsonPath, type Place, type Severity } from "./configuration/finding.js";
export {
  type Configuration,
  type ParseConfigurationOptions,
  parseConfiguration,
} from "./configuration/parse-configuration.js";
export { type EnvFile, parseEnvFile } from "./configuration/parse-env-file.js";
export {
  type NeededPermissions,
  permissionsToMarkdown,
  scopesUndocumented,
} from "./configuration/permission-table.js";
export { type RuleCode, rules } from "./configuration/rules.js";
export {
  type ResolvedEntry,
  resolveEntry,
  type Substitution,
  type SubstitutionContext,
  substituteEntry,
  type Variables,
  type VariableUse,
  variableUses,
} from "./configuration/substitute-entry.js";
export { parseTemplate, type Template, type TemplatePart, type VariableReference } from "./configuration/template.js";
export { usesOAuth } from "./configuration/uses-oauth.js";
export { type NeededVariable, neededVariables, variablesToMarkdown } from "./configuration/variable-table.js";
export * from "./connection/index.js";
export * from "./credentials/index.js";
export * from "./diagnostics/index.js";
export {
  type ConnectingDetails,
  type ErrorParts,
  ToolServerError,
  type ToolServerErrorCode,
  type ToolServerErrorDetails,
} from "./errors.js";
export { type BoundedReadOptions, readBoundedFile } from "./files/bounded-file.js";
export { type FileLockOptions, withFileLock } from "./files/file-lock.js";
export { decodeHeaderText, encodeHeaderText } from "./headers/header-text.js";
export * from "./http/index.js";
export * from "./oauth/index.js";
export * from "./process/index.js";
export { createSecretRegistry, type SecretRegistry } from "./secrets/redactor.js";
export * from "./servers/index.js";
export * from "./transports/index.js";
export * from "./trust/index.js";
export * from "./vault/index.js";
export { type CauseCode, causeTable } from "./why/cause-table.js";
export type { ExplainOAuth, ExplainOptions } from "./why/explain-options.js";
export type { Cause, Demand, Explanation, Mend, Note, Outcome, Step, StepName } from "./why/explanation.js";
export type { WalkFacts } from "./why/facts.js";
export { explainServer } from "./why/lazy-explain.js";
