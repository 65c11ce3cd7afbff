export { createEntryCredential, type EntryCredentialOptions } from "./entry-credential.js";
export type { OAuthOverrides, OAuthSettings } from "./entry-oauth.js";
export type { SandboxSettings } from "./entry-sandbox.js";
export {
  type AssertTrusted,
  type OpenedToolServer,
  type OpenToolServerOptions,
  openToolServer,
  type ToolServerSettings,
} from "./open-tool-server.js";
export { createToolServers, openEntry, type ToolServers, type ToolServersOptions } from "./tool-servers.js";
