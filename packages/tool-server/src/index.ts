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
export * from "./auth/credentials/index.js";
export * from "./auth/oauth/index.js";
export * from "./auth/vault/index.js";
export { type CheckOptions, type CheckReport, checkConfiguration } from "./config/check-configuration.js";
export {
  configurationFileName,
  findConfigurationFile,
  readConfigurationFile,
} from "./config/configuration-file.js";
export { readReadme } from "./config/documents.js";
export type {
  Entry,
  NamedField,
  NetworkEntry,
  NetworkType,
  StdioEntry,
  TenantVariable,
  TextField,
} from "./config/entry.js";
export { type Finding, formatPath, type JsonPath, type Place, type Severity } from "./config/finding.js";
export { decodeHeaderText, encodeHeaderText } from "./config/headers/header-text.js";
export {
  type Configuration,
  type ParseConfigurationOptions,
  parseConfiguration,
} from "./config/parse-configuration.js";
export { type EnvFile, parseEnvFile } from "./config/parse-env-file.js";
export {
  type NeededPermissions,
  permissionsToMarkdown,
  scopesUndocumented,
} from "./config/permission-table.js";
export { type RuleCode, rules } from "./config/rules.js";
export {
  type ResolvedEntry,
  resolveEntry,
  type Substitution,
  type SubstitutionContext,
  substituteEntry,
  type Variables,
  type VariableUse,
  variableUses,
} from "./config/substitute-entry.js";
export { parseTemplate, type Template, type TemplatePart, type VariableReference } from "./config/template.js";
export { usesOAuth } from "./config/uses-oauth.js";
export { type NeededVariable, neededVariables, variablesToMarkdown } from "./config/variable-table.js";
export { createNetworkLink, type NetworkLink, type NetworkLinkOptions } from "./connection/bridge/network-link.js";
export { createPipeTransport } from "./connection/bridge/pipe-transport.js";
export { type RelayOptions as ForwardStdioOptions, relay as forwardStdio } from "./connection/bridge/relay.js";
export { type BridgeOptions, runBridge } from "./connection/bridge/run-bridge.js";
export * from "./connection/index.js";
export * from "./connection/servers/index.js";
export * from "./connection/transports/index.js";
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
export * from "./http/index.js";
export * from "./process/index.js";
export { createSecretRegistry, type SecretRegistry } from "./secrets/redactor.js";
export * from "./trust/index.js";
export { type CauseCode, causeTable } from "./why/cause-table.js";
export type { ExplainOAuth, ExplainOptions } from "./why/explain-options.js";
export type { Cause, Demand, Explanation, Mend, Note, Outcome, Step, StepName } from "./why/explanation.js";
export type { WalkFacts } from "./why/facts.js";
export { explainServer } from "./why/lazy-explain.js";
