export type { ConsentPage } from "./authorization-server/authorize.js";
export {
  type HostileAuthorizationServer,
  type HostileAuthorizationServerOptions,
  startHostileAuthorizationServer,
} from "./authorization-server/hostile-authorization-server.js";
export { type CommandIo, main, runProcess } from "./command/main.js";
export type { LocalServer, LocalServerOptions } from "./local-server.js";
export { type LoggedRequest, readRequest } from "./local-server.js";
export { type Provider, type ProviderDescription, providerTable } from "./providers/provider-table.js";
export { type ProviderOptions, type ProviderServer, startProvider } from "./providers/start-provider.js";
export { describeQuirk, isQuirk, type Quirk, type QuirkDescription, quirkTable } from "./quirk-table.js";
export { type Quirks, type QuirksOptions, type QuirksServer, startQuirks } from "./start-quirks.js";
export {
  type HostileToolServer,
  type HostileToolServerOptions,
  type ScopesOf,
  startHostileToolServer,
} from "./tool-server/hostile-tool-server.js";
