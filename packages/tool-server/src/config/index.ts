export { type CheckOptions, type CheckReport, checkConfiguration } from "./check-configuration.js";
export {
  configurationFileName,
  findConfigurationFile,
  pluginRootOf,
  readConfigurationFile,
} from "./configuration-file.js";
export {
  type CreateConfigurationOptions,
  createConfiguration,
  type LocalToolServer,
  type RemoteToolServer,
  type ToolServerLocation,
} from "./create-configuration.js";
export { type Dialect, type DialectName, dialectOfFile, dialects } from "./dialects.js";
export {
  type NeededPermissions,
  type NeededVariable,
  neededVariables,
  permissionsToMarkdown,
  scopesUndocumented,
  variablesToMarkdown,
} from "./documentation.js";
export type {
  Entry,
  NamedField,
  NetworkEntry,
  NetworkType,
  SecretCommand,
  StdioEntry,
  TemplateField,
  TenantVariable,
  ToolSelection,
} from "./entry.js";
export { type EnvFile, parseEnvFile } from "./env-file.js";
export { type Finding, formatPath, type Severity, type SourcePosition } from "./finding.js";
export type { InputDefinition } from "./inputs.js";
export type { JsonPath } from "./json-with-positions.js";
export type { EntryOAuth, OAuthSettingName, OAuthSettingsOf, OAuthText } from "./oauth-settings.js";
export {
  type Configuration,
  type ParseConfigurationOptions,
  parseConfiguration,
  readConfiguration,
} from "./parse-configuration.js";
export { type RuleCode, rules } from "./rules.js";
export {
  type ResolvedCommand,
  type ResolvedEntry,
  resolveEntry,
  type Substitution,
  type SubstitutionContext,
  substituteEntry,
  type Variables,
} from "./substitute-entry.js";
export {
  type MalformedReference,
  parseTemplate,
  type Template,
  type TemplatePart,
  type TemplateSyntax,
  type VariableReference,
} from "./template.js";
export { type VariableUse, variableUses } from "./variable-uses.js";
